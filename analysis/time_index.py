"""Look-ups by time, held against the timestamps of what was polled.

A look-up answers the first offset whose message is of that time or later. What was polled at any time of the run tells how old a message
is; that there was one to be found can only be held against an answer of "none" if somebody had polled it before. An offset polled with two
timestamps counts with the one that accuses nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.check import Check
from analysis.findings import Finding, Witness
from analysis.log import Log, Mask
from analysis.partition import MISSING, Column
from analysis.sorting import changes, groups_of, order_of, position_in
from analysis.telling import finding, who, witness
from harness.history.schema import Function, Outcome


def stale(log: Log) -> Iterator[Finding]:
    rows = log.rows
    asked = np.flatnonzero((rows["f"] == Function.LOOKUP) & (rows["outcome"] == Outcome.OK))
    if len(asked):
        known = _Known(log)
        time, answer, invoked = (rows[name][asked] for name in ("timestamp", "offset", "invoked"))
        wrong = asked[known.older(answer, time) | known.passed_over(answer, time) | known.denied(answer, time, invoked)]
        yield finding("stale-time-index", (rows["op"][wrong],), lambda at: _tell(log, known, int(wrong[at])))


class _Known:
    """The messages of which ok polls gave a timestamp, from the log start on: by offset, and by when that was known."""

    def __init__(self, log: Log) -> None:
        rows = log.rows
        polled = (rows["f"] == Function.POLL) & (rows["outcome"] == Outcome.OK)
        polled &= (rows["timestamp"] != MISSING) & (rows["offset"] >= log.context.log_start)
        found = np.flatnonzero(polled)
        found = found[order_of(rows["offset"][found])]
        offset, time = rows["offset"][found], rows["timestamp"][found]
        first = np.concatenate(([0], np.flatnonzero(changes(offset)) + 1)) if len(found) else found
        self.offset = offset[first]
        self.row = found[first]
        self.oldest = np.minimum.reduceat(time, first) if len(first) else time
        self.newest = np.maximum.reduceat(time, first) if len(first) else time
        self._newest_up_to = np.maximum.accumulate(self.oldest)
        completed = rows["completed"][found]
        by_time = order_of(completed)
        self._seen = completed[by_time]
        self._seen_row = found[by_time]
        self._seen_oldest = self.oldest[groups_of(offset)][by_time]
        self._newest_seen = np.maximum.accumulate(self._seen_oldest)

    def older(self, answer: Column, time: Column) -> Mask:
        """The message at the offset answered is older than asked for."""
        at = position_in(self.offset, answer)
        found = at >= 0
        found[found] = self.newest[at[found]] < time[found]
        return found

    def passed_over(self, answer: Column, time: Column) -> Mask:
        """One before the answer is of that time or later."""
        before = np.searchsorted(self.offset, answer)
        found: Mask = (answer != MISSING) & (before > 0)
        found[found] = self._newest_up_to[before[found] - 1] >= time[found]
        return found

    def denied(self, answer: Column, time: Column, invoked: Column) -> Mask:
        """None was answered though one had been polled."""
        before = np.searchsorted(self._seen, invoked, side="right")
        found: Mask = (answer == MISSING) & (before > 0)
        found[found] = self._newest_seen[before[found] - 1] >= time[found]
        return found

    def first_of(self, time: int, before: int) -> int:
        """The row of the first message before an offset that is of that time or later."""
        end = np.searchsorted(self.offset, before)
        return int(self.row[np.flatnonzero(self.oldest[:end] >= time)[0]])

    def first_seen(self, time: int) -> int:
        return int(self._seen_row[np.flatnonzero(self._seen_oldest >= time)[0]])


def _tell(log: Log, known: _Known, lookup: int) -> Witness:
    rows = log.rows
    time, answer = int(rows["timestamp"][lookup]), int(rows["offset"][lookup])
    at, asked = position_in(known.offset, np.array([answer]))[0], np.array([time])
    if answer == MISSING:
        against, said = known.first_seen(time), "was told that there is none"
    elif known.passed_over(np.array([answer]), asked)[0]:
        against, said = known.first_of(time, answer), f"was told offset {answer}"
    else:
        against, said = int(known.row[at]), f"was told offset {answer}"
    evidence = f"{who(log, against)} polled offset {int(rows['offset'][against])} with timestamp {int(rows['timestamp'][against])}"
    sentence = f"{who(log, lookup).capitalize()} asked for the first message of timestamp {time} or later and {said}; {evidence}."
    return witness(log, sentence, (rows["op"][lookup],), (lookup, against), offset=int(rows["offset"][against]))


CHECKS = (Check(("stale-time-index",), ("f", "outcome"), stale),)
