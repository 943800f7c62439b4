"""`./highwater check`: the verdict on histories that are already there, without a cluster.

Standard output belongs to the answer; what is being done goes to standard error. With --json the answer is one line a history and
nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.arguments import Parser
from harness.errors import CANNOT_TELL, DONE, FAILED, EnvironmentFault, UserMistake

if TYPE_CHECKING:
    from analysis.judging import Question
    from analysis.sources import Source
    from analysis.verdict import Verdict


def main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(argv)
    from analysis.analysing import Analysis
    from analysis.spark import LOCAL, SparkOptions, SparkTrouble
    from harness.history.errors import HistoryError

    try:
        question = _question(given)
        sources = _sources(given)
        options = SparkOptions(given.master or LOCAL, given.memory)
        codes = []
        with Analysis(options, _progress(quiet=given.quiet or given.json)) as analysis:
            for source, verdict in analysis.judge(sources, question):
                _print(given, source, verdict)
                codes.append(exit_code(verdict))
    except HistoryError as problem:
        raise UserMistake(str(problem)) from None
    except SparkTrouble as problem:
        raise EnvironmentFault(str(problem)) from problem
    return next(code for code in (FAILED, CANNOT_TELL, DONE) if code in codes)


def exit_code(verdict: Verdict) -> int:
    return CANNOT_TELL if verdict.valid == "unknown" else DONE if verdict.valid else FAILED


def _parser() -> Parser:
    parser = Parser(prog="highwater check", description="The verdict on a history: a run's, or a foreign one (Jepsen's EDN or JSON Lines).")
    parser.add_argument("paths", nargs="+", type=Path, metavar="RUN|FILE", help="the folder of a run, or a file of a history")
    parser.add_argument("--rules", choices=("highwater", "jepsen"), default="highwater", help="what is an error (default highwater)")
    parser.add_argument(
        "--promise", action="append", default=[], metavar="NAME=VALUE", help="state a setting, as acks=all or unclean=false; several times"
    )
    parser.add_argument("--json", action="store_true", help="print verdict.json on one line, and nothing else")
    parser.add_argument("--each", action="store_true", help="the paths are folders: every history in them for itself, with one Spark")
    parser.add_argument("--master", metavar="URL", help="a Spark cluster (default: this machine)")
    parser.add_argument("--memory", type=_megabytes, metavar="SIZE", help="for all of it, as 2g or 512m (default: half of the machine's)")
    parser.add_argument("--quiet", action="store_true", help="say nothing on the way")
    return parser


def _question(given: argparse.Namespace) -> Question:
    from analysis.judging import Question
    from analysis.settled import parse_stated

    try:
        return Question(given.rules, parse_stated(given.promise))
    except ValueError as problem:
        raise UserMistake(f"--promise: {problem}") from None


def _sources(given: argparse.Namespace) -> list[Source]:
    from analysis.sources import source_at, sources_in

    if given.each:
        return [source for path in given.paths for source in sources_in(path)]
    return [source_at(path) for path in given.paths]


def _print(given: argparse.Namespace, source: Source, verdict: Verdict) -> None:
    from analysis.verdict import as_data
    from harness.cli.verdict_text import summary

    if given.json:
        named = {"file": source.path.name if given.each else str(source.path)} if given.each or len(given.paths) > 1 else {}
        print(json.dumps(named | as_data(verdict), allow_nan=False), flush=True)
    else:
        print(summary(source.path, verdict), flush=True)


def _progress(*, quiet: bool) -> Callable[[str], None]:
    return (lambda _: None) if quiet else (lambda text: print(f"  {text}", file=sys.stderr, flush=True))


def _megabytes(text: str) -> int:
    from analysis.spark.options import LEAST_MEMORY_MB

    match = re.fullmatch(r"(\d+)([mg])b?", text.lower())
    size = int(match[1]) * (1024 if match[2] == "g" else 1) if match else 0
    if size < LEAST_MEMORY_MB:
        raise argparse.ArgumentTypeError(f"{text!r} is no size from {LEAST_MEMORY_MB}m, as 2g or 1500m")
    return size
