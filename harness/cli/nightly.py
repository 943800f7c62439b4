"""`./highwater nightly`: the whole matrix within a budget; JUnit XML, Markdown, an index of all nights, and an exit code."""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser
from harness.errors import CANNOT_TELL, DONE, ENVIRONMENT, FAILED

_UNITS = {"s": 1, "m": 60, "h": 3600}


def main(argv: Sequence[str]) -> int:
    from harness.nightly.agenda import Agenda
    from harness.nightly.ledger import Ledger
    from harness.nightly.night import Night
    from harness.nightly.suite import cases_of, load_suite
    from harness.run.folder import RESULTS

    given = _parser().parse_args(argv)
    cases = cases_of(load_suite(given.suite))
    results = (Path(given.results) if given.results else RESULTS).resolve()
    folder = results / "nightly"
    ledger = Ledger(folder)
    agenda = Agenda(cases, ledger, random.Random(given.seed))
    night = Night(time.strftime("%Y-%m-%d %H:%M"), folder, results, agenda, ledger, lambda text: print(text, flush=True))
    entries = night.run(given.budget)
    _tell_github(folder / "summary.md")
    print(f"{len(entries)} runs, {len(agenda.passed_over)} that no time was left for; {folder}: junit.xml, summary.md, index.html")
    outcomes = {entry.outcome for entry in entries}
    if "failed" in outcomes:
        return FAILED
    if "error" in outcomes:
        return ENVIRONMENT
    return CANNOT_TELL if "cannot tell" in outcomes or not entries else DONE


def _tell_github(summary: Path) -> None:
    if where := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(where, "a") as file:
            file.write(summary.read_text())


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)([smh])", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time, as 90s, 30m or 8h")
    return float(int(match[1]) * _UNITS[match[2]])


def _parser() -> Parser:
    parser = Parser(
        prog="highwater nightly",
        description="Run a suite of scenarios, seeds that failed before first, then what is longest unproven, within a budget of time. "
        "It goes on after a failure, keeps what failed and thins out what passed.",
    )
    parser.add_argument("suite", nargs="?", default="default", metavar="SUITE", help="name or TOML file (default: every scenario there is)")
    parser.add_argument("--budget", type=_seconds, default=1800.0, metavar="TIME", help="as 90s, 30m or 8h (default 30m)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the night's new seeds (default: another every night)")
    parser.add_argument("--results", metavar="DIR", help="where runs are kept (default: results/ of this project)")
    return parser
