"""The places of a partition that is only to be had in pieces: which of its offsets hold something, and where each send lies.

Offsets follow each other but for a hole here and there, so what holds something is told by runs without a hole, and a place is where an
offset stands among them: a partition of a hundred million rows has its places in a few megabytes. A send lies where it was told to,
mostly; those that lie elsewhere, or nowhere, or were told nothing, are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.partition import MISSING, Column
from analysis.sorting import position_in
from harness.history.schema import Outcome

UNKNOWN = -1
"""The place of what has none."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Values, rising, whose send does not lie where it was told; where it lies, MISSING if nowhere; when it was invoked and over."""

    value: Column
    lies: Column
    invoked: Column
    over: Column


@dataclass(frozen=True, slots=True)
class Places:
    """Runs of offsets from `starts` up to, not including, `ends`, rising; `before` is how many places lie before each."""

    starts: Column
    ends: Column
    before: Column
    moved: Moved

    def of(self, offsets: Column) -> Column:
        """UNKNOWN where an offset holds nothing."""
        at, within = self._runs(offsets)
        there = (at >= 0) & (offsets < self.ends[within]) if len(self.starts) else np.zeros(len(offsets), np.bool_)
        return np.where(there, self.below(offsets), UNKNOWN)

    def below(self, offsets: Column) -> Column:
        """How many places lie before each offset."""
        if len(self.starts) == 0:
            return np.zeros(len(offsets), np.int64)
        at, within = self._runs(offsets)
        return np.where(at >= 0, self.before[within] + np.minimum(offsets, self.ends[within]) - self.starts[within], 0)

    def offset_at(self, place: int) -> int | None:
        """Of a place; None behind the last."""
        run = int(np.searchsorted(self.before, place, side="right")) - 1
        if run < 0:
            return None
        offset = int(self.starts[run]) + place - int(self.before[run])
        return offset if offset < self.ends[run] else None

    def of_sends(self, value: Column, outcome: npt.NDArray[np.integer], told: Column) -> Column:
        lies = np.where(outcome == Outcome.OK, told, MISSING)
        at = position_in(self.moved.value, value)
        lies[at >= 0] = self.moved.lies[at[at >= 0]]
        return self.of(lies)

    def _runs(self, offsets: Column) -> tuple[Column, Column]:
        """The last run that begins at or before each offset, -1 where none does; and the same as an index that may be used."""
        at = np.searchsorted(self.starts, offsets, side="right") - 1
        return at, np.maximum(at, 0)


Runs = tuple[Column, Column]


def runs_in(offsets: Column) -> Runs:
    """Starts and ends, of offsets that rise and are different."""
    if len(offsets) == 0:
        return offsets, offsets
    edges = np.flatnonzero(np.diff(offsets) != 1) + 1
    starts = offsets[np.concatenate(([0], edges))]
    return starts, offsets[np.append(edges, len(offsets)) - 1] + 1


def places_of(runs: Sequence[Runs], moved: Sequence[Moved]) -> Places:
    """From those of the pieces, rising. A run that a piece cut in two is left so: it makes no difference."""
    starts, ends = (np.concatenate([np.empty(0, np.int64), *(run[side] for run in runs)]) for side in (0, 1))
    lengths = ends - starts
    told = Moved(
        *(np.concatenate([np.empty(0, np.int64), *(getattr(one, name) for one in moved)]) for name in ("value", "lies", "invoked", "over"))
    )
    return Places(starts, ends, np.cumsum(lengths) - lengths, told)
