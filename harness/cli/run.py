"""`./highwater run`: from a scenario to a verdict, by a cluster that is deployed, driven, broken, healed and taken away again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser
from harness.errors import DONE, EnvironmentFault, UserMistake

if TYPE_CHECKING:
    from harness.run import Prepared, RunOutcome
    from harness.run.display import Display

DEFAULT = "default"


def main(argv: Sequence[str]) -> int:
    from harness.run import run_scenario
    from harness.run.ending import end_run
    from harness.run.folder import RESULTS
    from harness.run.interrupts import Interrupts

    arguments = _parser().parse_args(argv)
    results = Path(arguments.results) if arguments.results else RESULTS
    prepared = _prepared(arguments, results)
    with Interrupts() as interrupts:
        display = _display(prepared, quiet=arguments.quiet)
        try:
            display.line(_introduction(prepared))
            outcome = run_scenario(prepared, results, display, interrupts)
            outcome = end_run(outcome, display)
            display.line(f"results: {_shown(outcome.folder)}")
        finally:
            display.close()
    if arguments.no_check or outcome.interrupted:
        print("counts are no verdict: `./highwater check` gives one", flush=True)
        return outcome.exit_code
    return _judge(outcome)


def _judge(outcome: RunOutcome) -> int:
    """The verdict on the history; where that is sound, what was doubtful about the run itself still keeps it from being one."""
    from analysis import judge
    from analysis.spark import SparkTrouble
    from harness.cli.check import exit_code
    from harness.cli.verdict_text import summary

    try:
        verdict = judge(outcome.folder, progress=lambda text: print(f"  {text}", file=sys.stderr, flush=True))
    except SparkTrouble as problem:
        raise EnvironmentFault(f"{problem}; the run is saved, `./highwater check {_shown(outcome.folder)}` looks at it again") from problem
    print(summary(_shown(outcome.folder), verdict), flush=True)
    code = exit_code(verdict)
    return outcome.exit_code if code == DONE else code


def _prepared(arguments: argparse.Namespace, results: Path) -> Prepared:
    from harness.run import prepare, recall
    from harness.run.folder import find_run
    from harness.scenarios import given_flags, resolve

    flags = given_flags(arguments)
    if arguments.again is None:
        if arguments.same_nodes:
            raise UserMistake("--same-nodes belongs to --again RUN")
        return prepare(resolve(arguments.scenario or DEFAULT, flags))
    if arguments.scenario is not None or flags:
        raise UserMistake(f"--again runs the plan of {arguments.again} as it was: no scenario and no other flags beside it")
    return recall(find_run(arguments.again, results), same_nodes=arguments.same_nodes)


def _display(prepared: Prepared, *, quiet: bool) -> Display:
    from harness.run.display import PlainLines

    if quiet or not sys.stdout.isatty():
        return PlainLines(lambda text: print(text, flush=True))
    from harness.run.live_display import LiveDisplay

    return LiveDisplay(f"{prepared.scenario.name}, seed {prepared.seed}")


def _introduction(prepared: Prepared) -> str:
    scenario = prepared.scenario
    promises = f"acks={scenario.clients.acks}, min.insync.replicas={scenario.topics.min_insync}"
    return f"{scenario.name}, seed {prepared.seed}: {promises}, {len(prepared.faults)} faults in {scenario.durations.time_limit:g} s"


def _shown(folder: Path) -> Path:
    """From here, if it lies below."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _parser() -> Parser:
    from harness.scenarios import add_flags

    parser = Parser(
        prog="highwater run",
        description="Deploy a cluster, drive real clients at it, inject faults, record everything, check it, and leave nothing behind. "
        "Ctrl-C ends it in order, twice at once.",
    )
    parser.add_argument("scenario", nargs="?", metavar="SCENARIO", help=f"name or TOML file (default `{DEFAULT}`; `./highwater scenarios`)")
    parser.add_argument("--again", metavar="RUN", help="the plan of an earlier run once more: its folder, its id, or `latest`")
    parser.add_argument("--same-nodes", action="store_true", help="with --again: each fault strikes the nodes it found then")
    parser.add_argument("--results", metavar="DIR", help="where runs are kept (default: results/ of this project)")
    parser.add_argument("--no-check", action="store_true", help="record only: end with counts instead of a verdict")
    parser.add_argument("--quiet", action="store_true", help="plain lines on a terminal, too")
    add_flags(parser)
    return parser
