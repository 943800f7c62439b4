"""What is carried from one piece of a partition to the next, so that pieces together show what the whole does (see `pieces`).

Each is as small as there are clients, or as there are exceptions: the last rows of every process; the sends that lie elsewhere than they
were told; the values nobody read that may yet prove to lie below one that was; the latest invocation up to an offset.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.delivery import Further, further, furthest_read, tell_unread, unread_writes, with_further
from analysis.dependencies import ended
from analysis.findings import SHOWN, Finding, Witness
from analysis.log import Log
from analysis.partition import MISSING, Column, Columns, Partition
from analysis.places import Moved
from analysis.sorting import changes, order_of
from harness.history.schema import Function, Outcome

_CARRIED = ("op", "micro", "process", "producer", "kind", "f", "outcome", "value", "offset", "invoked", "completed")
_TOLD = 5 * SHOWN
"""Values of a piece for which a sentence is prepared."""
_NONE: Column = np.empty(0, np.int64)


def carried(log: Log) -> Partition:
    """Of each process the last rows that what it does next is held against: a send, a poll, a seek, and giving the partition up."""
    rows = log.rows
    alive, ok = rows["outcome"] != Outcome.FAIL, rows["outcome"] == Outcome.OK
    of_each = [log.sends[alive[log.sends]], log.reads[ok[log.reads]]]
    of_each += [np.flatnonzero((rows["f"] == f) & alive) for f in (Function.SEEK, Function.FORGET)]
    chosen = np.unique(np.concatenate([_last_of_each(rows["process"], positions) for positions in of_each]))
    return Partition(rows.topic, rows.part, {name: rows[name][chosen] for name in _CARRIED}, rows.names)


def follow(last: Partition, piece: Partition) -> Partition:
    """A piece with what was carried before its rows."""
    return Partition(piece.topic, piece.part, Columns(lambda name: np.concatenate((last[name], piece[name]))), piece.names)


def moved_in(log: Log) -> Moved:
    """Of a range of values."""
    offsets = np.append(log.pairs.offset[log.first_at_place], MISSING)
    lies = offsets[log.first_place[: log.sent_count]]
    told = np.where(log.rows["outcome"][log.sends] == Outcome.OK, log.rows["offset"][log.sends], MISSING)
    numbers = np.unique(log.number_of_send[told != lies[log.number_of_send]])
    rows = log.writer[numbers]
    return Moved(log.values[numbers], lies[numbers], log.rows["invoked"][rows], ended(log, rows))


class Holes:
    """`lost-write`: values that nobody read, and the one furthest on that somebody did, which is only known when all has been seen."""

    def __init__(self) -> None:
        self._bound, self._further = int(MISSING), Further("", 0)
        self._values, self._lies = [_NONE], [_NONE]
        self._told: dict[int, Witness] = {}

    def look_at(self, log: Log) -> None:
        """At the next range of values."""
        offsets = log.pairs.offset[log.first_at_place]
        furthest = furthest_read(log)
        if furthest is not None and offsets[log.first_place[furthest]] > self._bound:
            self._bound, self._further = int(offsets[log.first_place[furthest]]), further(log, furthest)
        numbers = unread_writes(log)
        self._values.append(log.values[numbers])
        self._lies.append(log.last_offset[numbers])
        self._told |= {int(log.values[number]): tell_unread(log, int(number)) for number in numbers[:_TOLD]}

    def finding(self) -> Finding:
        values, lies = np.concatenate(self._values), np.concatenate(self._lies)
        lost = values[lies <= self._bound]
        told = [with_further(self._told[value], self._further) for value in lost.tolist() if value in self._told]
        return Finding("lost-write", len(lost), tuple(told[:SHOWN]))


class Line:
    """Whether operations can be put in the order of the log and of time at once: then no circle is made of either (see `dependencies`)."""

    def __init__(self, moved: Moved) -> None:
        order = np.flatnonzero(moved.lies != MISSING)
        order = order[order_of(moved.lies[order])]
        self._lies, self._invoked, self._over = (column[order] for column in (moved.lies, moved.invoked, moved.over))
        self._latest = int(MISSING)

    def agrees_with_time(self, piece: Partition) -> bool:
        """For the next range of offsets: nothing is over before all is invoked that lies at or before it."""
        f, offset, completed = piece["f"], piece["offset"], piece["completed"]
        sends = np.flatnonzero(f == Function.SEND)
        over = np.flatnonzero(((f == Function.SEND) | (f == Function.POLL)) & (piece["outcome"] == Outcome.OK) & (completed != MISSING))
        moved = slice(0, np.searchsorted(self._lies, offset.max(initial=MISSING), side="right"))
        lies = np.concatenate((offset[sends], self._lies[moved]))
        invoked = np.concatenate((piece["invoked"][sends], self._invoked[moved]))
        order = order_of(lies)
        latest = np.maximum.accumulate(np.concatenate(([self._latest], invoked[order])))
        before = latest[np.searchsorted(lies[order], np.concatenate((offset[over], self._lies[moved])), side="right")]
        self._lies, self._invoked, after = self._lies[moved.stop :], self._invoked[moved.stop :], self._over[moved]
        self._over, self._latest = self._over[moved.stop :], int(latest[-1])
        return bool((np.concatenate((completed[over], after)) >= before).all())


def _last_of_each(process: npt.NDArray[np.integer], positions: Column) -> Column:
    """Of rising positions the last of each process."""
    order = positions[order_of(process[positions])]
    return order[np.append(changes(process[order]), True)] if len(order) else order
