"""`./highwater bench SUITE`: what the suites are, and what each may be asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser, number_between, row_count
from harness.errors import DONE, FAILED, UserMistake
from harness.systems.cluster_plan import MAX_NODES

SUITES = {
    "quick": "our broker in three minutes: acks=1 and all; --compare highwater,kafka measures systems side by side",
    "acks": "what each acks setting costs: throughput, latency, CPU, memory; ten minutes",
    "full": "acks, replicas, record sizes, flushing, idempotence, batching, compression; hours",
    "scaling": "1 to 1,000 partitions, 1 to 16 clients",
    "FILE.toml": "a suite of your own, like those in harness/bench/suites",
    "compare": "two results: what changed, and whether it is more than noise",
    "faults": "each acks setting while brokers are killed, paused and cut off: dips, latency, messages lost",
    "load": "load in a shape over time (step, spike, ramp), by Locust",
    "micro": "one cluster on this machine: produce, fetch, latency, time to a new leader",
    "analysis": "checking a history: ours, DuckDB, a Python loop and merely reading, on the same rows",
    "recorder": "recording a history: rows a second, bytes a row, without a broker",
}


def main(argv: Sequence[str]) -> int:
    if not argv:
        argv = ["quick"]
    if argv[0] in ("-h", "--help"):
        print("usage: ./highwater bench [SUITE] [ARGUMENTS]\n")
        print("\n".join(f"  {name:9} {what}" for name, what in SUITES.items()))
        print("\n./highwater bench SUITE --help tells more; without a suite it is quick.")
        return DONE
    suite, *rest = argv
    own = {"faults": _faults, "load": _load, "micro": _micro, "analysis": _analysis, "recorder": _recorder}
    if suite in own:
        return own[suite](rest)
    if suite not in SUITES and not suite.endswith(".toml"):
        raise UserMistake(f"there is no suite `{suite}`; there is: {', '.join(SUITES)}")
    from harness.cli import bench_suite

    return bench_suite.compare(rest) if suite == "compare" else bench_suite.run(suite, rest)


def _faults(argv: Sequence[str]) -> int:
    from harness.cli.bench_faults import main as faults

    return faults(argv)


def _load(argv: Sequence[str]) -> int:
    from harness.cli.bench_load import main as load

    return load(argv)


def _micro(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater bench micro", description="One cluster on this machine, measured; about four minutes.")
    parser.add_argument("--nodes", type=number_between(1, MAX_NODES), default=3, metavar="N", help="brokers (default 3)")
    parser.add_argument("--quick", action="store_true", help="fewer rows and shorter runs: about 40 seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    given = parser.parse_args(argv)
    from harness.bench.micro import run_micro

    run_micro(given.nodes, quick=given.quick, json_path=given.json)
    return DONE


def _analysis(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater bench analysis", description="How fast a history is checked, and against what; about fifteen minutes.")
    parser.add_argument("--rows", type=row_count, nargs="+", metavar="N", help="sizes of the histories (default 1M 10M 100M)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="keep the histories there, and use those that are")
    parser.add_argument("--memory", type=number_between(1024, 2**20), metavar="MB", help="for ours and for DuckDB (default: as they like)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    given = parser.parse_args(argv)
    from harness.bench.analysis import SIZES, as_json, measure_analysis
    from harness.bench.analysis_report import show

    sizes = sorted(set(given.rows or SIZES))
    report = measure_analysis(
        sizes, folder=given.data, memory_mb=given.memory, progress=lambda text: print(text, file=sys.stderr, flush=True)
    )
    show(report)
    if given.json is not None:
        given.json.write_text(json.dumps(as_json(report), indent=2) + "\n")
    return FAILED if report.wrong else DONE


def _recorder(argv: Sequence[str]) -> int:
    parser = Parser(prog="highwater bench recorder", description="What recording a history costs, without a broker; about a minute.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    given = parser.parse_args(argv)
    from harness.bench.recorder import run_recorder

    run_recorder(quick=given.quick, json_path=given.json)
    return DONE
