"""What was sent and what came out: nothing acknowledged may be gone, nothing refused or never sent may appear.

Whether a message is lost or late looks the same until the end: only a complete final read tells. Without one there is what Jepsen
calls a lost write, a hole behind which somebody has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from analysis.check import Check
from analysis.findings import Finding, Witness
from analysis.log import Log, Mask
from analysis.partition import MISSING, Column
from analysis.places import UNKNOWN
from analysis.sorting import position_in, take
from analysis.telling import fate, finding, listed, polls_of, sent, who, witness
from harness.history.schema import CORRUPT, MISPLACED, Function, Outcome, Phase


def aborted_reads(log: Log) -> Iterator[Finding]:
    guilty = np.zeros(len(log.values), np.bool_)
    guilty[: log.sent_count] = (log.outcome == Outcome.FAIL) & log.read_ok[: log.sent_count]
    if not guilty.any():
        return
    number = log.pairs.number[log.pairs.of_poll]
    chosen = np.flatnonzero(guilty[number] & (log.rows["outcome"][log.polls] == Outcome.OK))
    polls, number = log.polls[chosen], number[chosen]
    identity = (log.values[number], log.rows["op"][polls], log.rows["micro"][polls])
    yield finding("G1a", identity, lambda at: _tell_aborted(log, int(number[at]), int(polls[at])))


def lost_writes(log: Log) -> Iterator[Finding]:
    numbers, furthest = unread_writes(log), None
    if len(numbers) and (furthest := furthest_read(log)) is not None:
        numbers = numbers[log.last_place[numbers] <= log.first_place[furthest]]
    if furthest is not None and len(numbers):
        behind = further(log, furthest)
        yield finding("lost-write", (log.values[numbers],), lambda at: with_further(tell_unread(log, int(numbers[at])), behind))


def unread_writes(log: Log) -> Column:
    """Numbers of committed values that lie somewhere and that no ok operation read."""
    numbers: Column = np.flatnonzero(~log.read_ok[: log.sent_count])
    numbers = numbers[log.first_place[numbers] != UNKNOWN]
    return numbers[log.committed[numbers]] if len(numbers) else numbers


def furthest_read(log: Log) -> int | None:
    """The number of the value read by an ok operation whose first place is highest."""
    read = np.flatnonzero(log.read_ok)
    place = log.first_place[read]
    return int(read[np.argmax(place)]) if len(read) and place.max() != UNKNOWN else None


def unseen(log: Log) -> Iterator[Finding]:
    numbers = np.flatnonzero((log.outcome == Outcome.OK) & ~log.read_ok[: log.sent_count])
    yield finding("unseen", (log.values[numbers],), lambda at: _tell_unseen(log, int(numbers[at])))


def phantoms(log: Log) -> Iterator[Finding]:
    numbers = np.arange(log.sent_count, len(log.values))
    yield finding("phantom", (log.values[numbers],), lambda at: _tell_phantom(log, int(numbers[at])))


def lost(log: Log) -> Iterator[Finding]:
    if not log.context.finally_read:
        return
    numbers = np.flatnonzero((log.outcome == Outcome.OK) & ~log.read_finally[: log.sent_count])
    numbers = numbers[~_before_log_start(log, numbers)]
    yield finding("lost", (log.values[numbers],), lambda at: _tell_lost(log, int(numbers[at])))


def lost_after_read(log: Log) -> Iterator[Finding]:
    gone = np.zeros(len(log.values), np.bool_)
    if log.context.finally_read:
        gone |= log.read_ok & ~log.read_finally
        if gone.any():
            gone &= _read_before_the_end(log)
    if _is_dumped(log):
        gone[_not_dumped(log, np.flatnonzero(log.read_ok))] = True
    numbers = np.flatnonzero(gone)
    numbers = numbers[~_before_log_start(log, numbers)]
    yield finding("lost-after-read", (log.values[numbers],), lambda at: _tell_lost_after_read(log, int(numbers[at])))


def damaged(log: Log) -> Iterator[Finding]:
    """Messages that were polled and are not what was sent here."""
    words = log.rows.names["error"]
    for name, what in ((CORRUPT, "whose bytes do not match their checksum"), (MISPLACED, "that belongs to another partition or run")):
        if name in words:
            rows = np.flatnonzero(log.rows["error"] == words.index(name))
            rows = rows[(log.rows["f"][rows] == Function.POLL) & (log.rows["offset"][rows] != MISSING)]
            offsets, first = np.unique(log.rows["offset"][rows], return_index=True)
            yield finding(name, (offsets,), _teller_of_damage(log, what, rows[first]))


def _before_log_start(log: Log, numbers: Column) -> Mask:
    last = log.last_offset[numbers]
    before: Mask = (last != MISSING) & (last < log.context.log_start)
    return before


def _read_before_the_end(log: Log) -> Mask:
    outcome, phase = (take(log.rows[name], log.polls) for name in ("outcome", "phase"))
    return log.read_by((outcome == Outcome.OK) & (phase != Phase.FINAL))


def _is_dumped(log: Log) -> bool:
    return log.context.dumps is not None and len(log.context.dumps.records["value"]) > 0


def _not_dumped(log: Log, numbers: Column) -> Column:
    """Those of these values that are in no replica's log. Nearly all lie where the history has them, and are not looked for elsewhere."""
    assert log.context.dumps is not None
    records = log.context.dumps.records
    at = position_in(log.pairs.offset, records["offset"])
    known = log.pairs.number[at[at >= 0]]
    there = np.zeros(len(log.values), np.bool_)
    there[known[log.values[known] == records["value"][at >= 0]]] = True
    doubtful = numbers[~there[numbers]]
    return doubtful[~np.isin(log.values[doubtful], records["value"])]


def _where(log: Log, value: int) -> str:
    """Where it was lost, as far as the dumps tell."""
    dumps = log.context.dumps
    if dumps is None or not _is_dumped(log):
        return ""
    found = np.flatnonzero(dumps.records["value"] == value)
    if len(found) == 0:
        return " It is in no replica's log."
    nodes = listed([dumps.nodes[node] for node in np.unique(dumps.records["node"][found])])
    offsets = listed([str(int(offset)) for offset in np.unique(dumps.records["offset"][found])])
    return f" It is in the log of {nodes} at offset {offsets}, but the final read did not give it."


def _first_reader(log: Log, number: int, *, ok: bool = False, before_the_end: bool = False) -> int:
    pairs = np.flatnonzero(log.pairs.number == number)
    polls = np.sort(np.concatenate([polls_of(log, int(pair)) for pair in pairs]))
    if ok:
        polls = polls[log.rows["outcome"][polls] == Outcome.OK]
    if before_the_end and (log.rows["phase"][polls] != Phase.FINAL).any():
        polls = polls[log.rows["phase"][polls] != Phase.FINAL]
    return int(polls[0])


def _end_of(log: Log) -> str:
    final = log.context.final
    assert final is not None
    return "to the end" if final.end is None else f"from offset {final.log_start} to the end, {final.end},"


def _tell_aborted(log: Log, number: int, poll: int) -> Witness:
    value, offset = int(log.values[number]), int(log.rows["offset"][poll])
    sentence = f"{sent(log, number)}; {who(log, poll)} read it at offset {offset} all the same."
    identity = (value, log.rows["op"][poll], log.rows["micro"][poll])
    return witness(log, sentence, identity, (log.writer[number], poll), offset=offset)


class Further(NamedTuple):
    """Who read on behind a hole."""

    sentence: str
    op: int


def further(log: Log, number: int) -> Further:
    reader = _first_reader(log, number, ok=True)
    what = f"value {int(log.values[number])} at offset {int(log.rows['offset'][reader])}"
    return Further(f"{what} was read by {who(log, reader)}", int(log.rows["op"][reader]))


def tell_unread(log: Log, number: int) -> Witness:
    """Without the one who read further."""
    row, offset = log.writer[number], int(log.last_offset[number])
    lies = "" if fate(log, row).endswith(f"offset {offset}") else f"; it lies at offset {offset}"
    sentence = f"{sent(log, number)}{lies}. No ok operation read it"
    return witness(log, sentence, (log.values[number],), (row,), offset=offset)


def with_further(unread: Witness, behind: Further) -> Witness:
    ops = tuple(dict.fromkeys((*unread.ops, behind.op)))
    return replace(unread, sentence=f"{unread.sentence}, though {behind.sentence}.", ops=ops)


def _tell_unseen(log: Log, number: int) -> Witness:
    row = log.writer[number]
    sentence = f"{sent(log, number)}; no ok operation had polled it when the history ended."
    return witness(log, sentence, (log.values[number],), (row,), offset=int(log.rows["offset"][row]))


def _tell_phantom(log: Log, number: int) -> Witness:
    reader = _first_reader(log, number)
    value, offset = int(log.values[number]), int(log.rows["offset"][reader])
    sentence = f"{who(log, reader).capitalize()} polled value {value} at offset {offset}, which nobody sent to this partition."
    return witness(log, sentence, (value,), (reader,), offset=offset)


def _tell_lost(log: Log, number: int) -> Witness:
    row, value = log.writer[number], int(log.values[number])
    others = ""
    offset = int(log.rows["offset"][row])
    if offset != MISSING and (found := _finally_at(log, offset)) is not None:
        others = f"; {who(log, found)} read offset {offset} as value {int(log.rows['value'][found])}"
    sentence = f"{sent(log, number)}{others}. The final read {_end_of(log)} has not got it.{_where(log, value)}"
    rows = (row,) if not others else (row, _finally_at(log, offset) or 0)
    return witness(log, sentence, (value,), rows, offset=offset)


def _finally_at(log: Log, offset: int) -> int | None:
    rows = log.polls
    found = rows[
        (log.rows["offset"][rows] == offset) & (log.rows["phase"][rows] == Phase.FINAL) & (log.rows["outcome"][rows] == Outcome.OK)
    ]
    return int(found[0]) if len(found) else None


def _tell_lost_after_read(log: Log, number: int) -> Witness:
    reader = _first_reader(log, number, ok=True, before_the_end=True)
    value, offset = int(log.values[number]), int(log.rows["offset"][reader])
    in_final = bool(log.read_finally[number])
    end = "" if in_final or not log.context.finally_read else f" The final read {_end_of(log)} has not got it."
    sentence = f"{who(log, reader).capitalize()} read value {value} at offset {offset}.{end}{_where(log, value)}"
    return witness(log, sentence, (value,), (reader,), offset=offset)


def _teller_of_damage(log: Log, what: str, rows: Column) -> Callable[[int], Witness]:
    def tell(at: int) -> Witness:
        row = int(rows[at])
        offset = int(log.rows["offset"][row])
        sentence = f"{who(log, row).capitalize()} polled a message at offset {offset} {what}."
        return witness(log, sentence, (offset,), (row,), offset=offset)

    return tell


_COLUMNS = ("f", "outcome", "value", "offset")
CHECKS = (
    Check(("G1a",), _COLUMNS, aborted_reads),
    Check(("lost-write",), _COLUMNS, lost_writes),
    Check(("unseen",), _COLUMNS, unseen),
    Check(("phantom",), _COLUMNS, phantoms),
    Check((CORRUPT, MISPLACED), ("f", "offset", "error"), damaged),
    Check(("lost",), (*_COLUMNS, "phase"), lost),
    Check(("lost-after-read",), (*_COLUMNS, "phase"), lost_after_read),
)
