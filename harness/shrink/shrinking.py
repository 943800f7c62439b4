"""The search: take away what can be taken away, one thing at a time, while the plan still fails in the same way.

A run is no pure function of its plan, so a candidate that passes once may fail the next time: each has a few chances, and what is
kept has failed. The search ends when nothing can be taken away any more or no run is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from harness.run import Prepared
from harness.shrink.candidates import Candidate, candidates

CHANCES = 2


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed, and by what."""

    folder: Path
    anomalies: frozenset[str]


Try = Callable[[Prepared], Failure | None]
"""Runs a plan; None where it did not fail."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """`failure`: of the smallest plan that was seen failing; None where nothing could be taken away. `runs`: how many were made."""

    plan: Prepared
    failure: Failure | None
    runs: int


def shrink(plan: Prepared, anomalies: Collection[str], attempt: Try, most_runs: int, tell: Callable[[str], None]) -> Shrunk:
    """Any of `anomalies` counts as the same failure."""
    failure: Failure | None = None
    runs = 0
    while True:
        for candidate in candidates(plan):
            found = None
            for _ in range(CHANCES):
                if runs >= most_runs:
                    return Shrunk(plan, failure, runs)
                runs += 1
                found = attempt(candidate.plan)
                if found is not None and found.anomalies & set(anomalies):
                    break
                found = None
            tell(_told(candidate, found))
            if found is not None:
                plan, failure = candidate.plan, found
                break
        else:
            return Shrunk(plan, failure, runs)


def _told(candidate: Candidate, found: Failure | None) -> str:
    faults = f"{len(candidate.plan.faults)} faults"
    ending = f"still fails ({', '.join(sorted(found.anomalies))}): {faults} left" if found else "it takes that"
    return f"without {candidate.what}: {ending}"
