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

from analysis.log import Log, Mask
from analysis.partition import MISSING, Column
from analysis.places import UNKNOWN
from analysis.sorting import changes, take
from analysis.times import NONE
from harness.history.schema import Function, Outcome

WW, WR, RW, REALTIME = 1, 2, 4, 8
NEVER = np.iinfo(np.int64).max


class Dependencies:
    """Of one partition. Rows stand for operations."""

    def __init__(self, log: Log) -> None:
        self.log = log

    @cached_property
    def all(self) -> tuple[Column, Column, Column]:
        """Source, target, and kind (WW, WR or RW), without what depends on itself."""
        parts = (self._overwriting, self._reading, self._missing)
        source, target = (np.concatenate([part[column] for part in parts]) for column in range(2))
        kind = np.repeat((WW, WR, RW), [len(part[0]) for part in parts])
        other = self.log.rows["op"][source] != self.log.rows["op"][target]
        return source[other], target[other], kind[other]

    def stretches(self) -> Column:
        """Times covered by dependencies that run back: rows of start and end. One on oneself covers a moment, which is no matter."""
        log, line = self.log, self._line
        sent = moment(log, log.writer)
        known = np.flatnonzero((line[:-1] < log.sent_count) & (line[1:] < log.sent_count))
        number, polls = self._polled
        pairs = [(sent[line[known]], sent[line[known + 1]]), (sent[number], moment(log, polls))]
        pairs.append((moment(log, self._missing[0]), moment(log, self._missing[1])))
        found = [np.stack((after[back], before[back]), axis=1) for before, after in pairs for back in [np.flatnonzero(after <= before)]]
        return np.concatenate(found)

    @cached_property
    def compound(self) -> bool:
        """An operation may send twice, send and poll, or be told of an end: then the shape of the dependencies tells nothing."""
        log, rows = self.log, self.log.rows
        if log.has_transactions or (rows["f"] == Function.END).any() or (take(rows["micro"], log.sends) > 0).any():
            return True
        again = log.context.rules == "jepsen" and (np.bincount(self._line) > 1).any()
        return bool(again or not changes(take(rows["op"], log.sends)).all())

    def evidence(self, chosen: Column) -> dict[str, Column]:
        """What shows these dependencies: the value and offset of the one, and of the next where there is one."""
        log = self.log
        source, target, kind = (column[chosen] for column in self.all)
        value, next_value = log.rows["value"][source], log.rows["value"][target]
        offset = np.where(kind == WW, self._lies(source), np.where(kind == WR, log.rows["offset"][target], log.rows["offset"][source]))
        return {"value": value, "offset": offset, "next_value": next_value, "next_offset": self._lies(target)}

    def arcs(self) -> Column:
        """Times from a completion to a later invocation that the log puts before it: rows of start and end."""
        if not self._has_arcs:
            return NONE
        begun, over = self.log.rows["invoked"][self.log.writer], self.over
        found = np.flatnonzero(over < begun)
        return np.stack((over[found], begun[found]), axis=1)

    @property
    def _has_arcs(self) -> bool:
        """Whether a send or a poll of a value was over before something was invoked that lies on the line before it, or is its send."""
        number, polls = self._polled
        return bool((ended(self.log, polls) < self.begun[number]).any() or (ended(self.log, self.log.writer) < self.begun).any())

    @cached_property
    def begun(self) -> Column:
        """Of each value sent: the latest invocation on the line up to it."""
        found: Column = _at(self.log, "invoked", self.log.writer).copy()
        line = self._line_sent
        found[line] = np.maximum.accumulate(found[line])
        return found

    @cached_property
    def over(self) -> Column:
        """Of each value sent: the earliest ok completion of its send, of its readers and of all behind it on the line."""
        log = self.log
        found = ended(log, log.writer).copy()
        number, polls = self._polled
        np.minimum.at(found, number, ended(log, polls))
        line = self._line_sent[::-1]
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
        return self.log.pairs.number if self.log.is_plain else self.log.pairs.number[self._line_pairs]

    @property
    def _line_sent(self) -> Column:
        """Of these, those that somebody sent."""
        return self._line if len(self.log.values) == self.log.sent_count else self._line[self._line < self.log.sent_count]

    @cached_property
    def _line_pairs(self) -> Column:
        log = self.log
        if log.is_plain:
            return np.arange(len(log.pairs.number))
        owner = np.flatnonzero(log.owns)
        return owner if log.context.rules == "jepsen" else owner[log.first_place[log.pairs.number[owner]] == log.place[owner]]

    def _lies(self, rows: Column) -> Column:
        """The offset of what each row sent; MISSING where it is no send."""
        log = self.log
        at = np.minimum(np.searchsorted(log.sends, rows), len(log.sends) - 1)
        place = log.place_sent[at]
        lies = log.pairs.offset[log.owns]
        return np.where((log.sends[at] == rows) & (place != UNKNOWN), lies[place], MISSING)

    @cached_property
    def _polled(self) -> tuple[Column, Column]:
        """Numbers of values that somebody sent and somebody polled, with the rows of the polls."""
        log = self.log
        number = log.pairs.number[log.pairs.of_poll]
        if len(log.values) == log.sent_count:
            return number, log.polls
        sent = np.flatnonzero(number < log.sent_count)
        return number[sent], log.polls[sent]

    @property
    def _overwriting(self) -> tuple[Column, Column]:
        line, log = self._line, self.log
        both = np.flatnonzero((line[:-1] < log.sent_count) & (line[1:] < log.sent_count))
        return log.writer[line[both]], log.writer[line[both + 1]]

    @property
    def _reading(self) -> tuple[Column, Column]:
        number, polls = self._polled
        return self.log.writer[number], polls

    @cached_property
    def _missing(self) -> tuple[Column, Column]:
        """Rows that told of an end, and the writers of what follows there."""
        log = self.log
        told = np.flatnonzero((log.rows["f"] == Function.END) & (log.rows["outcome"] == Outcome.OK) & (log.rows["offset"] != MISSING))
        lies = log.pairs.offset[self._line_pairs]
        at = np.searchsorted(lies, log.rows["offset"][told])
        told, at = told[at < len(lies)], at[at < len(lies)]
        number = self._line[at]
        sent = number < log.sent_count
        return told[sent], log.writer[number[sent]]


def ended(log: Log, rows: Column) -> Column:
    """When each of these was over, where it was ok."""
    completed = _at(log, "completed", rows)
    over: Mask = (_at(log, "outcome", rows) == Outcome.OK) & (completed != MISSING)
    return completed if over.all() else np.where(over, completed, NEVER)


def moment(log: Log, rows: Column) -> Column:
    """By which operations are ordered: the completion of an ok one, the invocation of any other, which may never end."""
    found = ended(log, rows)
    never = found == NEVER
    return np.where(never, _at(log, "invoked", rows), found) if never.any() else found


def _at(log: Log, name: str, rows: Column) -> Column:
    """A column at some rows. All sends and all polls rise, so that it may be no copy."""
    found: Column = take(log.rows[name], rows) if rows is log.polls or rows is log.sends else log.rows[name][rows]
    return found


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
