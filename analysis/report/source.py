"""What a report is made from: the verdict, the measures, and the files of the run that are there. A foreign history has few of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.material import read_material
from analysis.metrics import Measures
from analysis.verdict import Verdict
from harness.history.beside import Fault
from harness.history.errors import HistoryError
from harness.history.plan import Plan
from harness.history.readers import History


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what the page is headed with. `history` is None where its rows cannot be read again: then there are no pictures."""

    run: Path
    name: str
    verdict: Verdict
    measures: Measures
    faults: tuple[Fault, ...]
    plan: Plan | None
    history: History | None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The scenario's, as far as the plan has one."""
        found = self.plan.scenario.get("settings", {}) if self.plan else {}
        return found if isinstance(found, Mapping) else {}

    @property
    def began(self) -> datetime | None:
        return datetime.fromtimestamp(self.plan.clocks[0].wall / 1e9, UTC) if self.plan and self.plan.clocks else None


def source_of(run: Path, verdict: Verdict, measures: Measures, name: str | None = None) -> Source:
    """What is malformed is as if it were not there: the verdict says so, and the report must still be written."""
    try:
        material = read_material(run)
    except HistoryError:
        return Source(run, name or run.resolve().name, verdict, measures, (), None, None)
    return Source(run, name or run.resolve().name, verdict, measures, material.faults, material.plan, material.history)
