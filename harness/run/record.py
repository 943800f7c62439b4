"""The run's own record: its time, its phases, its plan.json.

Time zero is when the run began, on CLOCK_MONOTONIC; workers, faults and events all count from there. plan.json is written at the start,
so that a run that was killed can be run again, and once more at the end with the phases as they were and the clocks beside each other.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.history.plan import ClockPair, Plan, write_plan
from harness.run.prepared import Prepared
from harness.scenarios.plan import promises_of, recorded


@dataclass(slots=True)
class PhaseTimes:
    """ns since the run began; no end while it goes on."""

    name: str
    start: int
    end: int | None = None


class RunRecord:
    def __init__(self, prepared: Prepared, run_id: str) -> None:
        self._prepared, self._run_id = prepared, run_id
        self.base_ns = time.monotonic_ns()
        self.phases: list[PhaseTimes] = []
        self.load_began = 0
        self._clocks = [self._pair()]

    def now(self) -> int:
        """ns since the run began."""
        return time.monotonic_ns() - self.base_ns

    def enter(self, phase: str) -> None:
        self.leave()
        self.phases.append(PhaseTimes(phase, self.now()))

    def leave(self) -> None:
        self._clocks.append(self._pair())
        if self.phases and self.phases[-1].end is None:
            self.phases[-1].end = self.now()

    def write(self, run: Path) -> None:
        scenario = self._prepared.scenario
        record = recorded(scenario, self._prepared.faults)
        record |= {"run_id": self._run_id, "load_began": self.load_began, "phases": [asdict(phase) for phase in self.phases]}
        write_plan(run, Plan(self._prepared.seed, promises_of(scenario), self.base_ns, tuple(self._clocks), scenario=record))

    def _pair(self) -> ClockPair:
        return ClockPair(time.monotonic_ns() - self.base_ns, time.time_ns())
