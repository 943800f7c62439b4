"""The order in which things were sent, stored and read, inside one operation and along one process.

Everything is judged by places (see `anomalies`): the step from one to the next is 1 where nothing was left out. Whoever reads on has to
start at the place that follows the last one; a seek puts him elsewhere, and whoever gives a partition up is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis import reordering, time_index
from analysis.check import Check
from analysis.findings import Finding, Witness
from analysis.log import Log, Mask
from analysis.partition import MISSING, Column
from analysis.places import UNKNOWN
from analysis.sorting import changes, order_of, rises_for_each, take
from analysis.telling import finding, who, witness
from harness.history.schema import Function, Outcome


def inside_polls(log: Log) -> Iterator[Finding]:
    rows, place = log.reads, log.place_read
    second = _wrong_steps(log, rows, place)
    if len(second):
        excused = np.unique(log.rows["op"][log.rows["f"] == Function.REBALANCE])
        second = second[~np.isin(log.rows["op"][rows[second]], excused)]
    for name, chosen in _steps(place[second - 1], place[second], "int-poll-skip", "int-nonmonotonic-poll"):
        yield _inside(log, name, rows, second[chosen], "polled")


def inside_sends(log: Log) -> Iterator[Finding]:
    rows, place = log.sends, log.place_sent
    second = _wrong_steps(log, rows, place)
    for name, chosen in _steps(place[second - 1], place[second], "int-send-skip", "int-nonmonotonic-send"):
        yield _inside(log, name, rows, second[chosen], "sent")


def along_polls(log: Log) -> Iterator[Finding]:
    """A process's first poll in an operation against its position, which is told as the place that should come next."""
    rows, place = log.reads, log.place_read
    first, last = _ends(take(log.rows["op"], rows))
    moving = last[log.rows["outcome"][rows[last]] == Outcome.OK]
    forgets, seeks = _forgets(log), np.flatnonzero((log.rows["f"] == Function.SEEK) & (log.rows["outcome"] != Outcome.FAIL))
    sought = log.places_below(log.rows["offset"][seeks]) if len(seeks) else seeks
    positions = _States(
        np.concatenate((rows[moving], forgets, seeks)),
        np.concatenate(
            (
                np.where(place[moving] == UNKNOWN, UNKNOWN, place[moving] + 1),
                np.full(len(forgets), UNKNOWN),
                np.where(log.rows["outcome"][seeks] == Outcome.OK, sought, UNKNOWN),
            )
        ),
    )
    expected, since = positions.before(log, rows[first])
    known = (expected != UNKNOWN) & (place[first] != UNKNOWN) & (log.rows["op"][rows[first]] >= log.context.since)
    for name, chosen in (("poll-skip", known & (place[first] > expected)), ("nonmonotonic-poll", known & (place[first] < expected))):
        yield _along_polls(log, name, rows[first[chosen]], since[chosen])


def along_sends(log: Log) -> Iterator[Finding]:
    """A process's first send in an operation against the last of the one before."""
    chosen, places = log.placed
    if len(log.sends) == log.sent_count and rises_for_each(places, lambda: take(log.rows["process"], log.sends)[chosen]):
        return
    alive = np.flatnonzero(log.rows["outcome"][log.sends] != Outcome.FAIL)
    rows, place = log.sends[alive], log.place_sent[alive]
    first, last = _ends(log.rows["op"][rows])
    order = order_of(log.rows["process"][rows[first]])
    before, after = last[order[:-1]], first[order[1:]]
    back = (place[before] != UNKNOWN) & (place[after] != UNKNOWN) & (place[after] <= place[before])
    back &= log.rows["process"][rows[before]] == log.rows["process"][rows[after]]
    earlier, now = rows[before[back]], rows[after[back]]
    together = ~_parted(log, earlier, now)
    earlier, now = earlier[together], now[together]
    doubtful = (log.rows["outcome"][now] == Outcome.INFO) | (log.rows["outcome"][earlier] == Outcome.INFO)
    doubtful |= log.rows["producer"][now] != log.rows["producer"][earlier]
    identity = (log.rows["op"][now],)
    yield finding("nonmonotonic-send", identity, lambda at: _tell_sends(log, int(earlier[at]), int(now[at]), bool(doubtful[at])), doubtful)


@dataclass(frozen=True, slots=True)
class _States:
    """What is known of a process after some of its rows."""

    rows: Column
    states: Column

    def before(self, log: Log, asked: Column) -> tuple[Column, Column]:
        """For each row asked for, the state its process was in and the row since when; UNKNOWN where there is none."""
        length, process = len(log.rows) + 1, log.rows["process"]
        moment = process[self.rows].astype(np.int64) * length + self.rows
        order = order_of(moment)
        at = np.searchsorted(moment[order], process[asked].astype(np.int64) * length + asked) - 1
        if len(order) == 0:
            return np.full(len(asked), UNKNOWN), np.full(len(asked), UNKNOWN)
        since = self.rows[order[at]]
        same = (at >= 0) & (process[since] == process[asked])
        return np.where(same, self.states[order[at]], UNKNOWN), np.where(same, since, UNKNOWN)


def _wrong_steps(log: Log, rows: Column, place: Column) -> Column:
    """Positions in `rows` whose row is of the same operation as the one before, and not in the next place."""
    op = take(log.rows["op"], rows)
    return np.flatnonzero((op[1:] == op[:-1]) & (np.diff(place) != 1)) + 1


def _steps(before: Column, now: Column, skip: str, back: str) -> Iterator[tuple[str, Mask]]:
    known = (before != UNKNOWN) & (now != UNKNOWN)
    yield skip, known & (now - before > 1)
    yield back, known & (now - before < 1)


def _ends(op: Column) -> tuple[Column, Column]:
    """The first and the last position of each operation."""
    if len(op) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    edges = np.flatnonzero(changes(op))
    return np.concatenate(([0], edges + 1)), np.concatenate((edges, [len(op) - 1]))


def _parted(log: Log, earlier: Column, now: Column) -> Mask:
    """Whether the process of these pairs of rows gave the partition up in between."""
    length, forgets = len(log.rows) + 1, _forgets(log)
    process = log.rows["process"].astype(np.int64)
    moments = np.sort(process[forgets] * length + forgets)
    return np.searchsorted(moments, process[now] * length + now) > np.searchsorted(moments, process[now] * length + earlier)


def _forgets(log: Log) -> Column:
    return np.flatnonzero((log.rows["f"] == Function.FORGET) & (log.rows["outcome"] != Outcome.FAIL))


def _at(log: Log, row: int) -> str:
    rows = log.rows
    value = int(rows["value"][row])
    return f"offset {int(rows['offset'][row])}" + ("" if value == MISSING else f" (value {value})")


def _inside(log: Log, name: str, rows: Column, second: Column, verb: str) -> Finding:
    identity = (log.rows["op"][rows[second]], log.rows["micro"][rows[second]])

    def tell(at: int) -> Witness:
        before, now = int(rows[second[at] - 1]), int(rows[second[at]])
        if verb == "polled":
            sentence = f"{who(log, now).capitalize()} polled {_at(log, before)} and next {_at(log, now)}{_between(log, before, now)}."
            offset = int(log.rows["offset"][now])
        else:
            sentence, offset = _stored(log, before, now)
        return witness(log, sentence, (identity[0][at], identity[1][at]), (now,), offset=offset)

    return finding(name, identity, tell)


def _along_polls(log: Log, name: str, now: Column, since: Column) -> Finding:
    identity = (log.rows["op"][now],)

    def tell(at: int) -> Witness:
        before, here = int(since[at]), int(now[at])
        did = "sought offset" if log.rows["f"][before] == Function.SEEK else "polled"
        where = str(int(log.rows["offset"][before])) if did.startswith("sought") else _at(log, before)
        next_op = f"in op {int(log.rows['op'][here])} went on at {_at(log, here)}"
        sentence = f"{who(log, before).capitalize()} {did} {where} and {next_op}{_between(log, before, here)}."
        return witness(log, sentence, (identity[0][at],), (before, here), offset=int(log.rows["offset"][here]))

    return finding(name, identity, tell)


def _between(log: Log, before: int, now: int) -> str:
    """What a step over offsets left out."""
    start, end = int(log.rows["offset"][before]), int(log.rows["offset"][now])
    after = start if log.rows["f"][before] == Function.SEEK else start + 1
    first = log.offset_at(int(log.places_below(np.array([after]))[0]))
    if first is None or first >= end:
        return ""
    if log.context.places is not None:
        return f"; offset {first} lies between"
    return f"; offset {first} has value {int(log.values[log.pairs.number[np.searchsorted(log.pairs.offset, first)]])}"


def _stored(log: Log, earlier: int, later: int) -> tuple[str, int]:
    """Two sends of one operation and where they lie."""
    place = dict(zip(log.sends[np.isin(log.sends, (earlier, later))], log.place_sent[np.isin(log.sends, (earlier, later))], strict=True))
    lies = {row: log.offset_at(int(place[row])) or 0 for row in (earlier, later)}
    one, two = (f"value {int(log.rows['value'][row])}, which lies at offset {lies[row]}" for row in (earlier, later))
    return f"{who(log, later).capitalize()} sent {one}, and next {two}.", lies[later]


def _tell_sends(log: Log, earlier: int, later: int, doubtful: bool) -> Witness:
    texts, lies = [], []
    for row in (earlier, later):
        lies.append(log.offset_at(int(log.place_sent[np.searchsorted(log.sends, row)])) or 0)
        told = "acknowledged" if log.rows["outcome"][row] == Outcome.OK else "outcome unknown"
        texts.append(f"{who(log, row)} sent value {int(log.rows['value'][row])} ({told}), which lies at offset {lies[-1]}")
    sentence = f"{texts[0].capitalize()}; later, {texts[1]}: sent later, stored earlier."
    return witness(log, sentence, (log.rows["op"][later],), (earlier, later), offset=lies[1], doubtful=doubtful)


_READING = ("f", "outcome", "value", "offset")
CHECKS = (
    Check(("int-poll-skip", "int-nonmonotonic-poll"), _READING, inside_polls),
    Check(("int-send-skip", "int-nonmonotonic-send"), _READING, inside_sends),
    Check(("poll-skip", "nonmonotonic-poll"), (*_READING, "process"), along_polls),
    Check(("nonmonotonic-send",), (*_READING, "process", "producer"), along_sends),
    *reordering.CHECKS,
    *time_index.CHECKS,
)
