"""Which operation comes before which, by what one partition shows.

ww: whose value lies right before another's. wr: whose value another polled. rw: who was told that the partition ends where another's value
lies now. (See `anomalies`, G0 and G-single.) An operation is a vertex, whatever its size; here its rows stand for it.

In a partition where every send is an operation of its own and polls only read, dependencies are a line of sends with polls hanging off
it, and no circle can be without real time. Whether there is one with it is seen from two times of every operation: the latest invocation
before it on the line, and the earliest completion behind it. A send that was invoked after something behind it had completed spans
an *arc* of time; without an arc, points in time can be chosen inside all operations that agree with every dependency.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from analysis.log import UNKNOWN, Log, Mask
from analysis.partition import MISSING, Column
from analysis.sorting import changes
from harness.history.schema import Function, Kind, Outcome

WW, WR, RW, REALTIME = 1, 2, 4, 8
NEVER = np.iinfo(np.int64).max


class Dependencies:
    """Of one partition. `source` and `target` are rows, `kind` is WW, WR or RW; self-dependencies are left out."""

    def __init__(self, log: Log) -> None:
        self.log = log
        parts = (self._overwriting(), self._reading(), self._missing())
        source, target, kind = (np.concatenate([part[column] for part in parts]) for column in range(3))
        other = log.rows["op"][source] != log.rows["op"][target]
        self.source, self.target, self.kind = source[other], target[other], kind[other]

    @cached_property
    def compound(self) -> bool:
        """An operation may send twice, send and poll, or be told of an end: then the shape of the dependencies tells nothing."""
        rows, sends = self.log.rows, self.log.sends
        several = (rows["micro"][sends] > 0).any() or not changes(rows["op"][sends]).all()
        again = len(np.unique(self._line)) != len(self._line)
        return bool(several or again or (rows["kind"] == Kind.TXN).any() or (rows["f"] == Function.END).any())

    def evidence(self, chosen: Column) -> dict[str, Column]:
        """What shows these dependencies: the value and offset of the one, and of the next where there is one."""
        log, source, target, kind = self.log, self.source[chosen], self.target[chosen], self.kind[chosen]
        value, next_value = log.rows["value"][source], log.rows["value"][target]
        offset = np.where(kind == WW, self._lies(source), np.where(kind == WR, log.rows["offset"][target], log.rows["offset"][source]))
        return {"value": value, "offset": offset, "next_value": next_value, "next_offset": self._lies(target)}

    def arcs(self) -> Column:
        """Times from a completion to a later invocation that the log puts before it: rows of start and end."""
        begun, over = self.log.rows["invoked"][self.log.writer], self.over
        found = np.flatnonzero(over < begun)
        return np.stack((over[found], begun[found]), axis=1)

    @cached_property
    def begun(self) -> Column:
        """Of each value sent: the latest invocation on the line up to it."""
        found: Column = self.log.rows["invoked"][self.log.writer].copy()
        line = self._line[self._line < self.log.sent_count]
        found[line] = np.maximum.accumulate(found[line])
        return found

    @cached_property
    def over(self) -> Column:
        """Of each value sent: the earliest ok completion of its send, of its readers and of all behind it on the line."""
        log = self.log
        found = ended(log, log.writer)
        number = log.pairs.number[log.pairs.of_poll]
        polls = np.flatnonzero(number < log.sent_count)
        np.minimum.at(found, number[polls], ended(log, log.polls[polls]))
        line = self._line[self._line < log.sent_count][::-1]
        found[line] = np.minimum.accumulate(found[line])
        return found

    @cached_property
    def begun_of_polls(self) -> Column:
        """Of each row in `Log.polls`: the latest invocation before its operation, as far as this partition shows."""
        log = self.log
        if len(log.polls) == 0:
            return log.polls
        number = log.pairs.number[log.pairs.of_poll]
        known = np.append(self.begun, MISSING)[np.minimum(number, log.sent_count)]
        known = np.maximum(known, log.rows["invoked"][log.polls])
        group = np.concatenate(([0], np.flatnonzero(changes(log.rows["op"][log.polls])) + 1))
        lengths = np.diff(np.append(group, len(known)))
        return np.repeat(np.maximum.reduceat(known, group), lengths)

    @cached_property
    def _line(self) -> Column:
        """Numbers of values in the order of their places, without those that lie there again."""
        return self.log.pairs.number[self._line_pairs]

    @cached_property
    def _line_pairs(self) -> Column:
        log = self.log
        owner = np.flatnonzero(log.owns)
        return owner if log.context.rules == "jepsen" else owner[log.first_place[log.pairs.number[owner]] == log.place[owner]]

    def _lies(self, rows: Column) -> Column:
        """The offset of what each row sent; MISSING where it is no send."""
        log = self.log
        at = np.minimum(np.searchsorted(log.sends, rows), len(log.sends) - 1)
        place = log.place_sent[at]
        lies = log.pairs.offset[log.owns]
        return np.where((log.sends[at] == rows) & (place != UNKNOWN), lies[place], MISSING)

    def _overwriting(self) -> tuple[Column, Column, Column]:
        line, log = self._line, self.log
        both = np.flatnonzero((line[:-1] < log.sent_count) & (line[1:] < log.sent_count))
        return log.writer[line[both]], log.writer[line[both + 1]], np.full(len(both), WW)

    def _reading(self) -> tuple[Column, Column, Column]:
        number = self.log.pairs.number[self.log.pairs.of_poll]
        sent = np.flatnonzero(number < self.log.sent_count)
        return self.log.writer[number[sent]], self.log.polls[sent], np.full(len(sent), WR)

    def _missing(self) -> tuple[Column, Column, Column]:
        log = self.log
        told = np.flatnonzero((log.rows["f"] == Function.END) & (log.rows["outcome"] == Outcome.OK) & (log.rows["offset"] != MISSING))
        lies = log.pairs.offset[self._line_pairs]
        at = np.searchsorted(lies, log.rows["offset"][told])
        told, at = told[at < len(lies)], at[at < len(lies)]
        number = self._line[at]
        sent = number < log.sent_count
        return told[sent], log.writer[number[sent]], np.full(int(sent.sum()), RW)


def ended(log: Log, rows: Column) -> Column:
    """When each of these was over, where it was ok."""
    completed = log.rows["completed"][rows]
    return np.where((log.rows["outcome"][rows] == Outcome.OK) & (completed != MISSING), completed, NEVER)


def moment(log: Log, rows: Column) -> Column:
    """By which operations are ordered: the completion of an ok one, the invocation of any other, which may never end."""
    found = ended(log, rows)
    return np.where(found == NEVER, log.rows["invoked"][rows], found)


def inside(times: Column, moments: Column) -> Mask:
    """Whether each moment lies in one of the times, which are apart and sorted."""
    at = np.searchsorted(times[:, 0], moments, side="right") - 1
    found: Mask = (at >= 0) & (moments <= times[np.maximum(at, 0), 1])
    return found


def touches(times: Column, begun: Column, over: Column) -> Mask:
    """Whether what is behind each operation ends before the end of one of the times, and what is before it begins after its start."""
    at = np.searchsorted(times[:, 1], over, side="right")
    known = at < len(times)
    found: Mask = known & (begun > times[np.where(known, at, 0), 0])
    return found
