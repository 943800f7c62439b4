"""Rows of one partition in the order of their operations, without sorting what is in order already.

A file has the rows of a worker as it made them, so a bucket comes in *runs*: stretches of one partition in which operation and
micro-operation rise. Where there are few and none reaches into another, laying them one behind the other is all there is to do: a copy
of memory, a tenth of what sorting and gathering takes. Where many short ones are mixed, as those of workers that serve many partitions
at once, the rows are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.history.schema import first_number

Column = npt.NDArray[np.int64]

_SHORT = 64
"""Rows a run should have on average for copying it to be cheaper than gathering its rows."""
_FAR = np.uint64(first_number(1) // 2)


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows from `starts` up to, not including, `ends`, one run after the other."""

    starts: Column
    ends: Column

    def __len__(self) -> int:
        return len(self.starts)

    def only(self, chosen: Column) -> Runs:
        return Runs(self.starts[chosen], self.ends[chosen])

    @property
    def rows(self) -> Column:
        """The positions of all rows."""
        lengths = self.ends - self.starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(self.starts - before, lengths) + np.arange(int(lengths.sum()))

    def of(self, column: Column) -> Column:
        """The column of these rows; of a single run it is no copy."""
        pieces = [column[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]

    def joined(self, op: Column, micro: Column) -> Runs | Column:
        """Their rows by operation and micro-operation: runs where that is a matter of their order, positions where it is not."""
        first, last = op[self.starts], op[self.ends - 1]
        order = np.lexsort((micro[self.starts], first))
        first, last = first[order[1:]], last[order[:-1]]
        apart = first > last
        apart |= (first == last) & (micro[self.starts[order[1:]]] > micro[self.ends[order[:-1]] - 1])
        ordered = self.only(order)
        if apart.all():
            return ordered if len(ordered) * _SHORT <= int((ordered.ends - ordered.starts).sum()) else ordered.rows
        rows = self.rows
        return rows[_order(op[rows], micro[rows])]


def runs_of(topic: npt.NDArray[np.int32], part: npt.NDArray[np.int32], op: Column, micro: Column) -> Runs:
    """Of the rows of a bucket. A far step up is where another worker's rows begin, among which those of other runs may have to go."""
    step = np.diff(op).view(np.uint64)  # what goes down is a step farther than any up
    ends = step >= _FAR
    ends |= (step == 0) & (micro[1:] < micro[:-1])
    for column in (topic, part):
        if column[0] != column[-1] or (column != column[0]).any():
            ends |= column[1:] != column[:-1]
    edges = np.flatnonzero(ends) + 1
    return Runs(np.concatenate(([0], edges)), np.append(edges, len(op)))


def _order(op: Column, micro: Column) -> Column:
    """What comes in rising runs is sorted quickly; micro-operations are rarely out of order where operations are not."""
    order = np.argsort(op, kind="stable")
    op_in_order, micro_in_order = op[order], micro[order]
    wrong = (op_in_order[1:] == op_in_order[:-1]) & (micro_in_order[1:] < micro_in_order[:-1])
    return np.lexsort((micro, op)) if wrong.any() else order
