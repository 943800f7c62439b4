"""What a checker that is being timed tells whoever started it: one line of JSON a pass, with what it found."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Pass:
    """`seconds` by its own clock, without what came before. `counts` is empty where nothing is counted."""

    name: str
    seconds: float
    counts: Counts


def time_passes(name: str, check: Callable[[], Counts], passes: int) -> None:
    for _ in range(passes):
        started = time.perf_counter()
        counts = check()
        tell(Pass(name, time.perf_counter() - started, counts))


def tell(one: Pass) -> None:
    print(json.dumps({"pass": one.name, "seconds": one.seconds, "counts": dict(one.counts)}), flush=True)


def parse_pass(line: str) -> Pass:
    told = json.loads(line)
    return Pass(told["pass"], told["seconds"], told["counts"])


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One of the checkers of `./highwater bench analysis`.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--memory-mb", type=int)
    parser.add_argument("--names", nargs="+", default=["core", "all"], help="which checks, where a checker has more than one set")
    return parser.parse_args(argv)
