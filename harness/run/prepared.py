"""What is decided before anything is started: the scenario with its seed, and the faults that follow from it.

A run is repeated from its plan.json alone, so that neither a changed scenario file nor a changed schedule makes it another one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserMistake
from harness.history.beside import Fault, read_rows
from harness.history.errors import HistoryError
from harness.history.plan import read_plan
from harness.scenarios import Scenario
from harness.scenarios.plan import planned_faults, recalled, with_seed
from nemesis.schedule import PlannedFault, pinned


@dataclass(frozen=True, slots=True)
class Prepared:
    """Invariant: the scenario has a seed."""

    scenario: Scenario
    faults: tuple[PlannedFault, ...]

    @property
    def seed(self) -> int:
        assert self.scenario.seed is not None
        return self.scenario.seed


def prepare(scenario: Scenario) -> Prepared:
    """With the scenario's seed, or one drawn now."""
    seeded = with_seed(scenario, secrets.randbelow(2**31))
    return Prepared(seeded, tuple(planned_faults(seeded)))


def recall(run: Path, *, same_nodes: bool = False) -> Prepared:
    """The plan of an earlier run. `same_nodes`: each fault strikes the nodes it found then, whoever leads now."""
    try:
        scenario, faults = recalled(read_plan(run).scenario, str(run / "plan.json"))
        if same_nodes:
            faults = pinned(faults, {row.id: row.targets for row in read_rows(run, Fault)})
    except HistoryError as problem:
        raise UserMistake(f"{run} cannot be run again: {problem}") from None
    return Prepared(scenario, tuple(faults))
