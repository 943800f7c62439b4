"""What is run next, as a pure function of the cases, the ledger and the time that is left.

Seeds that failed come first, always: a bug that was found stays on the agenda until its seed passes. Then the cases that are longest
unproven, those never proven before all, each with a new seed; when every case has had its turn, a second round of seeds begins. A case
that does not fit into what is left is passed over for a shorter one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from harness.nightly.ledger import Ledger
from harness.nightly.suite import Case

OVERHEAD_S = 60.0
"""Deployment, final reads and check of a case that was never run."""
NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Planned:
    case: Case
    seed: int
    why: str


class Agenda:
    """One night's choice. Invariant: no case and seed is handed out twice."""

    def __init__(self, cases: Sequence[Case], ledger: Ledger, rng: random.Random) -> None:
        self._ledger = ledger
        self._waiting = [*_failed_before(cases, ledger), *_new_seeds(cases, ledger, rng)]
        self.passed_over: list[Planned] = []

    def next(self, left_s: float) -> Planned | None:
        """The first that fits; None where nothing does."""
        for number, planned in enumerate(self._waiting):
            if expected_seconds(planned.case, self._ledger) <= left_s:
                return self._waiting.pop(number)
        self.passed_over, self._waiting = self._waiting, []
        return None


def expected_seconds(case: Case, ledger: Ledger) -> float:
    return ledger.usual_seconds(case.key) or case.least_s + OVERHEAD_S


def _failed_before(cases: Sequence[Case], ledger: Ledger) -> list[Planned]:
    return [Planned(case, seed, "failed before") for case in cases for seed in ledger.failing_seeds(case.key)]


def _new_seeds(cases: Sequence[Case], ledger: Ledger, rng: random.Random) -> list[Planned]:
    def unproven_since(case: Case) -> float:
        proven = ledger.last_proven(case.key)
        return NEVER if proven is None else proven

    ordered = sorted(cases, key=unproven_since)
    rounds = range(max((case.seeds for case in cases), default=0))
    return [Planned(case, rng.randrange(2**31), "longest unproven") for number in rounds for case in ordered if number < case.seeds]
