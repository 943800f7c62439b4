"""`bench analysis`: how fast a history is checked, and against what.

The same synthetic history for everybody: ours on Spark, DuckDB, a loop in Python, and the floor, which only reads. Each is a program of
its own: *cold* is from its start to its first answer, *warm* the median of what it needs after that. Files are in the page cache. An
engine that does not find exactly what was injected has lost, however fast it was: then the benchmark fails.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from analysis.spark import SparkTrouble
from analysis.synth import TRUTH_FILE, synthesise
from analysis.synth.spreading import on_spark
from harness.bench.checkers import read_floor
from harness.bench.checkers.passes import Counts
from harness.bench.goals import Goal
from harness.bench.timed_checkers import Timed, time_checker
from harness.errors import EnvironmentFault, UserMistake

MILLION = 1_000_000
SIZES = (1 * MILLION, 10 * MILLION, 100 * MILLION)
MOST_IN_PYTHON = 10 * MILLION
SMALL = 100_000
"""Rows of the history whose verdict is held against starting Spark."""
SEED = 13
INJECTED = {
    "lost": 3, "duplicate": 2, "G1a": 2, "phantom": 2, "read-conflict": 2, "ack-conflict": 1, "reordered": 2, "poll-skip": 1, "corrupt": 2,
}  # fmt: skip
"""17 anomalies of 9 kinds."""

PASSES = 3
OURS, DUCKDB, LOOP, FLOOR = "on_spark", "duckdb_sql", "python_loop", "read_floor"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """`wrong` has a sentence for every count that is not the truth."""

    timed: tuple[Timed, ...]
    goals: tuple[Goal, ...]
    wrong: tuple[str, ...]


def measure_analysis(
    sizes: Sequence[int], *, folder: Path | None = None, memory_mb: int | None = None, progress: Progress
) -> AnalysisReport:
    """Histories are made in `folder`, and kept there for the next time; without one they are gone afterwards."""
    if min(sizes) < SMALL:
        raise UserMistake(f"{min(sizes):,} rows are too few: {SMALL:,} at least")
    timed: list[Timed] = []
    wrong: list[str] = []
    with _place(folder) as place:
        for rows in sizes:
            run = _history(place, rows, progress)
            truth: Counts = json.loads((run / TRUTH_FILE).read_text())["anomalies"]
            read_floor.read(run)
            for engine in (FLOOR, DUCKDB, OURS, LOOP):
                if engine == LOOP and rows > MOST_IN_PYTHON:
                    continue
                progress(f"{rows:,} rows: {engine}")
                passes = 1 if engine == LOOP else PASSES
                timed.append(time_checker(engine, run, rows, passes, memory_mb if engine in (OURS, DUCKDB) else None))
                wrong += timed[-1].wrong(truth)
        small = _against_start(_history(place, SMALL, progress), progress)
    return AnalysisReport(tuple(timed), (*judge(timed), small), tuple(dict.fromkeys(wrong)))


def judge(timed: Sequence[Timed]) -> list[Goal]:
    """Of the largest history, in ratios wherever possible."""
    by = {(one.engine, one.rows): one for one in timed}
    sizes = sorted({one.rows for one in timed})
    largest = sizes[-1]
    ours = by[OURS, largest]
    core = ours.warm_s("core")
    size = f"{largest // MILLION} million rows" if largest >= MILLION else f"{largest:,} rows"
    goals = [
        Goal(f"core checks, {size}, from a cold start", largest / ours.cold_s, "rows/s", 3_000_000, True),
        Goal(f"core checks, {size}, warm, against DuckDB's time", core / by[DUCKDB, largest].warm_s("core"), "x", 1.0, False),
        Goal(f"core checks, {size}, warm, against merely reading", core / by[FLOOR, largest].warm_s("read"), "x", 4.0, False),
        Goal(f"all checks, {size}, warm, against the core ones", ours.warm_s("all") / core, "x", 3.0, False),
    ]
    for rows in sizes[1:]:
        if (OURS, rows // 10) in by:
            growth = by[OURS, rows].warm_s("core") / by[OURS, rows // 10].warm_s("core")
            goals.append(Goal(f"core checks, warm, {rows:,} rows against a tenth of them", growth, "x", 10.5, False))
    return [*goals, Goal(f"peak memory, {size}, all processes together", ours.peak_bytes / 1e9, "GB", 8.0, False)]


def as_json(report: AnalysisReport) -> dict[str, object]:
    """NaN is null, since JSON has none."""
    goals = [asdict(goal) | {"reached": None if math.isnan(goal.reached) else goal.reached, "met": goal.met} for goal in report.goals]
    return {"engines": [asdict(one) for one in report.timed], "goals": goals, "wrong": list(report.wrong)}


def _against_start(run: Path, progress: Progress) -> Goal:
    progress(f"{SMALL:,} rows, against starting Spark")
    empty = time_checker("empty_job", run, SMALL, 1)
    small = time_checker(OURS, run, SMALL, 1, names=["all"])
    what = f"all checks of {SMALL:,} rows, against starting Spark and an empty job"
    return Goal(what, small.cold_s / empty.cold_s, "x", 1.5, False)


def _history(place: Path, rows: int, progress: Progress) -> Path:
    run = place / f"synthetic-{rows}"
    if not (run / TRUTH_FILE).exists():
        progress(f"{rows:,} rows: writing the history")
        if run.exists():
            raise UserMistake(f"{run} is there but not complete; remove it")
        try:
            synthesise(run, rows, INJECTED, SEED, each=on_spark)
        except SparkTrouble as problem:
            raise EnvironmentFault(str(problem)) from None
    return run


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        yield Path(name)
