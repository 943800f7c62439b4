"""`./highwater synth`: a synthetic history with known anomalies, to try a checker on any number of rows."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from harness.cli.arguments import Parser, number_between, row_count
from harness.errors import DONE, EnvironmentFault, UserMistake


def main(argv: Sequence[str]) -> int:
    given = _parse(argv)
    from analysis.spark import SparkTrouble
    from analysis.synth import TRUTH_FILE, SynthesisError, synthesise
    from analysis.synth.spreading import on_spark

    started = time.monotonic()
    try:
        plan = synthesise(given.out, given.rows, given.inject, given.seed, partitions=given.partitions, hot=given.hot, each=on_spark)
    except SynthesisError as problem:
        raise UserMistake(str(problem)) from None
    except SparkTrouble as problem:
        raise EnvironmentFault(str(problem)) from None
    took = time.monotonic() - started
    print(f"{given.out}: {plan.rows:,} rows of {given.partitions} partitions in {plan.files} files; {took:.1f} s")
    expected = ", ".join(f"{name} {count}" for name, count in plan.truth().items() if count) or "nothing"
    print(f"a checker finds: {expected} ({TRUTH_FILE})")
    return DONE


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    from analysis.synth import INJECTIONS
    from analysis.synth.numbering import MAX_PARTITIONS
    from analysis.synth.writing import DEFAULT_PARTITIONS

    parser = Parser(prog="highwater synth", description="Write a synthetic history with known anomalies.")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "what can be injected:\n" + "\n".join(f"  {name:22} {one.what}" for name, one in INJECTIONS.items())
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    parser.add_argument("--rows", type=row_count, required=True, metavar="N", help="exactly so many; 10M is ten million")
    parser.add_argument("--inject", type=_injected, default={}, metavar="KIND=N,…", help="so many anomalies of these kinds")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="another seed is another history (default 1)")
    parser.add_argument(
        "--partitions",
        type=number_between(1, MAX_PARTITIONS),
        default=DEFAULT_PARTITIONS,
        metavar="P",
        help=f"(default {DEFAULT_PARTITIONS})",
    )
    parser.add_argument("--hot", type=float, metavar="PART", help="this part of all rows is in one partition, e.g. 0.9")
    return parser.parse_args(argv)


def _injected(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in text.split(","):
        kind, equals, count = part.strip().partition("=")
        if not equals or not count.isdecimal() or kind in found:
            raise argparse.ArgumentTypeError(f"{part!r} is not like lost=3, each kind once")
        found[kind] = int(count)
    return found
