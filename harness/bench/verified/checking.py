"""The verdict on what a benchmark recorded, as plain data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentFault


@dataclass(frozen=True, slots=True)
class Checked:
    """`valid` is None where nobody can tell; `why` are the sentences that decided it."""

    valid: bool | None
    why: tuple[str, ...]
    seconds: float


def check_run(run: Path) -> Checked:
    """On Spark; the verdict and its report lie in the run's folder afterwards."""
    from analysis import judge
    from analysis.spark import SparkTrouble

    began = time.monotonic()
    try:
        verdict = judge(run)
    except SparkTrouble as problem:
        raise EnvironmentFault(f"{problem}; the run is saved, `./highwater check {run}` looks at it again") from problem
    return Checked(verdict.valid if isinstance(verdict.valid, bool) else None, verdict.why, time.monotonic() - began)
