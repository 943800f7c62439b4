"""`./highwater bench SUITE` for suites in TOML: our broker alone, or systems side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser, number_between
from harness.cli.table import format_table
from harness.errors import DONE, FAILED, UserMistake


def run(suite_name: str, argv: Sequence[str]) -> int:
    given = _parser(suite_name).parse_args(argv)
    from harness.bench.reports.tables import tables
    from harness.bench.reports.writing import MARKDOWN, PAGE, write_reports
    from harness.bench.side_by_side.running import run_suite
    from harness.bench.suites.suite import read_suite
    from harness.run.folder import RESULTS

    suite = read_suite(suite_name)
    if given.rounds is not None:
        suite = suite.model_copy(update={"method": suite.method.model_copy(update={"rounds": given.rounds})})
    names = given.compare.split(",") if given.compare else ["highwater"]
    warm_up_s = given.warm_up * 60 if given.warm_up is not None else None
    options = {"warm_up_s": warm_up_s, "kafka_home": given.kafka_home, "kills": given.kills}
    folder, result = run_suite(suite, names, given.results or RESULTS, **options, say=_say)
    summary = write_reports(folder, result)
    for table in tables(summary):
        if table.rows:
            print(f"\n{table.title}\n")
            print(format_table(table.head, table.rows))
    for remark in summary.remarks():
        print(f"\n{remark}")
    print(f"\n{folder / MARKDOWN}\n{folder / PAGE}")
    return DONE


def compare(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater bench compare", description="What changed from one result to another; exit 1 on a regression.")
    parser.add_argument("before", type=Path, metavar="A", help="folder of the earlier result")
    parser.add_argument("after", type=Path, metavar="B", help="folder of the later one")
    parser.add_argument("--threshold", type=number_between(0, 1000), default=10, metavar="PERCENT", help="what is tolerated (default 10)")
    given = parser.parse_args(argv)
    from harness.bench.figures.changes import changes, unmatched
    from harness.bench.figures.results import read_result
    from harness.bench.reports.changed import as_rows, sentences

    before, after = read_result(given.before), read_result(given.after)
    found = list(changes(before, after))
    if not found:
        raise UserMistake(f"{given.before} and {given.after} have no case and system in common")
    threshold = given.threshold / 100
    print(format_table(*as_rows(found, threshold)))
    for sentence in sentences(before, after, found, unmatched(before, after), threshold):
        print(f"\n{sentence}")
    return FAILED if any(change.is_regression(threshold) for change in found) else DONE


def _parser(suite: str) -> Parser:
    parser = Parser(prog=f"highwater bench {suite}", description="Measure throughput and latency; results lie in results/bench-SUITE.")
    parser.add_argument("--compare", metavar="A,B", help="systems side by side: highwater, kafka, revisions of ours (default: highwater)")
    parser.add_argument(
        "--warm-up", type=_minutes, metavar="MINUTES", help="warm each system up for at most so long (default: as the suite says)"
    )
    parser.add_argument("--rounds", type=number_between(1, 100), metavar="N", help="instead of the suite's")
    parser.add_argument("--kills", type=number_between(0, 100), default=0, metavar="N", help="then kill leaders, and count what is lost")
    parser.add_argument("--kafka-home", type=Path, metavar="FOLDER", help="a Kafka distribution, instead of one from Maven Central")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="where results go (default: results)")
    return parser


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes from 0 to 600")
    return value


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
