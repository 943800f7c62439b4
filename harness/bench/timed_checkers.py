"""Runs one checker as a program of its own, and keeps what it told, when, and how much memory it took."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bench.checkers.passes import Counts, Pass, parse_pass
from harness.bench.tree_memory import TreeMemory
from harness.errors import EnvironmentFault


@dataclass(frozen=True, slots=True)
class Timed:
    """`cold_s`: from the start of the program to the first answer. `passes` in their order."""

    engine: str
    rows: int
    cold_s: float
    passes: tuple[Pass, ...]
    peak_bytes: int

    def warm_s(self, name: str) -> float:
        """The median of all passes of that name but the program's first, which paid for what only happens once."""
        found = [one.seconds for place, one in enumerate(self.passes) if one.name == name and place > 0]
        return statistics.median(found) if found else float("nan")

    @property
    def counts(self) -> Counts:
        """Of all passes together: they agree, or `wrong` says where not."""
        return {name: count for one in self.passes for name, count in one.counts.items()}

    def wrong(self, truth: Counts) -> list[str]:
        """A sentence for everything that is not as it should be."""
        return [
            f"{self.engine}, {self.rows:,} rows, {one.name}: {count} {name} instead of {truth[name]}"
            for one in self.passes
            for name, count in one.counts.items()
            if count != truth[name]
        ]


def time_checker(engine: str, run: Path, rows: int, passes: int, memory_mb: int | None = None, names: Sequence[str] | None = None) -> Timed:
    command = [sys.executable, "-m", f"harness.bench.checkers.{engine}", str(run), "--passes", str(passes)]
    command += ["--memory-mb", str(memory_mb)] if memory_mb is not None else []
    command += ["--names", *names] if names else []
    return time_program(engine, command, rows)


def time_program(engine: str, command: Sequence[str], rows: int) -> Timed:
    """Any program that tells its passes as `passes` does."""
    told: list[Pass] = []
    cold = float("nan")
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as child:
        assert child.stdout is not None
        with TreeMemory(child.pid) as memory:
            for line in child.stdout:
                told.append(parse_pass(line))
                cold = cold if len(told) > 1 else time.perf_counter() - started
            child.wait()
        said.seek(0)
        complaint = said.read().strip()
    if child.returncode != 0 or not told:
        last = complaint.splitlines()[-1] if complaint else f"exit code {child.returncode}"
        raise EnvironmentFault(f"the checker {engine} did not finish on {rows:,} rows: {last}")
    return Timed(engine, rows, cold, tuple(told), memory.peak)
