"""The sends of a run as columns: when each was due, when it was acknowledged, and whether it is in the log in the end.

Lost is what was acknowledged and is in no final read. Values tell, not counts: one stored twice must not make up for one that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc  # type: ignore[import-untyped]

from harness.bench.under_faults.dips import Times
from harness.history.readers import open_history
from harness.history.schema import Function, Outcome, Phase

_COLUMNS = ("f", "outcome", "phase", "intended", "completed", "value")


@dataclass(frozen=True, slots=True)
class Sends:
    """In the order they were due. `acknowledged` is -1 where no acknowledgement came; both in ns since the run began."""

    due: Times
    acknowledged: Times
    lost: npt.NDArray[np.bool_]

    @property
    def acknowledgements(self) -> Times:
        """Sorted by time."""
        return np.sort(self.acknowledged[self.acknowledged >= 0])

    def due_within(self, start: int, end: int) -> Sends:
        chosen = slice(*np.searchsorted(self.due, (start, end)))
        return Sends(self.due[chosen], self.acknowledged[chosen], self.lost[chosen])

    @property
    def latencies_ms(self) -> npt.NDArray[np.float64]:
        """From when they were due, of those that were acknowledged."""
        answered = self.acknowledged >= 0
        return (self.acknowledged[answered] - self.due[answered]) / 1e6

    @property
    def unacknowledged(self) -> int:
        return int(np.count_nonzero(self.acknowledged < 0))


def read_sends(run: Path) -> Sends:
    """Words are those of our own recorder, which wrote these files."""
    rows = open_history(run).read_all(_COLUMNS)
    sent = rows.filter(pc.equal(rows["f"], int(Function.SEND)))
    final = pc.and_(pc.equal(rows["f"], int(Function.POLL)), pc.equal(rows["phase"], int(Phase.FINAL)))
    read = rows.filter(pc.and_(pc.and_(final, pc.equal(rows["outcome"], int(Outcome.OK))), pc.is_valid(rows["value"])))
    due = sent["intended"].to_numpy()
    answered = sent["outcome"].to_numpy() == int(Outcome.OK)
    acknowledged = np.where(answered, sent["completed"].fill_null(-1).to_numpy(), -1)
    lost = answered & ~np.isin(sent["value"].to_numpy(), read["value"].to_numpy())
    order = np.argsort(due, kind="stable")
    return Sends(due[order].astype(np.int64), acknowledged[order].astype(np.int64), lost[order])
