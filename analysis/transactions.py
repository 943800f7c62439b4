"""Transactions: all of one or nothing, and nothing of it before it is over.

Only operations of the kind `txn` send and poll in one, or promise that what they sent belongs together. What a partition shows of them
is joined over partitions by operation: a number an operation, and the rows of those that are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.check import Check, Joined
from analysis.findings import SHOWN, Finding, Witness
from analysis.log import Log
from analysis.partition import MISSING, Column
from analysis.places import UNKNOWN
from analysis.sorting import changes, groups_of, order_by, position_in
from analysis.telling import finding, seconds, who, witness
from harness.history.schema import Kind, Outcome

_NO_OPS: Column = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Shown:
    """Operations that a partition shows to be of a kind, sorted, and what it says of the smallest of them."""

    ops: Column = field(default_factory=lambda: _NO_OPS)
    sentences: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Sends of committed transactions, at most two of each: one that is in the final read and one that is not. Sorted by `op`, `there`."""

    names: tuple[str, ...]
    columns: dict[str, Column]

    def tell(self, at: int) -> str:
        value, process, invoked, there, place = (int(self.columns[name][at]) for name in ("value", "process", "invoked", "there", "place"))
        verb = "is" if there else "is not"
        return f"value {value}, sent to {self.names[place]} by process {process} at {seconds(invoked)}, {verb} in the final read"


def intermediate_reads(log: Log) -> Iterator[Finding]:
    """G1b: an operation that read a part of a transaction and polled behind its last value."""
    rows, sends = log.rows, log.sends
    if not log.has_transactions:
        return
    transaction = np.flatnonzero((rows["kind"][sends] == Kind.TXN) & (rows["outcome"][sends] != Outcome.FAIL))
    group = groups_of(rows["op"][sends[transaction]])
    several = transaction[np.bincount(group)[group] > 1] if len(group) else transaction
    if len(several) == 0:
        return
    op, number = rows["op"][sends[several]], log.number_of_send[several]
    last_of_op = np.append(changes(op), True)
    last = np.full(len(log.values), UNKNOWN)
    last[number] = number[last_of_op][np.searchsorted(op[last_of_op], op)]
    read = np.flatnonzero(rows["outcome"][log.polls] == Outcome.OK)
    polled = log.pairs.number[log.pairs.of_poll[read]]
    found = _partly_read(log, rows["op"][log.polls[read]], polled, last[polled])
    readers, values = rows["op"][log.polls[read[found]]], last[polled[found]]
    writers = rows["op"][log.writer[values]]
    identity = (readers, writers)
    yield finding("G1b", identity, lambda at: _tell_part(log, int(log.polls[read[found[at]]]), int(values[at])))


def _partly_read(log: Log, reader: Column, polled: Column, last: Column) -> Column:
    """Positions of polls whose operation did not poll the last value of the same transaction, but a place behind it; one a pair of both."""
    own = reader == log.rows["op"][log.writer[np.where(last == UNKNOWN, 0, last)]]
    chosen: Column = np.flatnonzero((last != UNKNOWN) & ~own)
    width = len(log.values)
    group = groups_of(reader)
    everything = np.unique(group * width + polled)
    has_last = position_in(everything, group[chosen] * width + last[chosen]) != UNKNOWN
    chosen = chosen[~has_last]
    if len(chosen) == 0:
        return chosen
    place = log.place_of_value[last[chosen]]
    behind = _furthest(log, reader[chosen]) > place
    chosen = chosen[behind & (place != UNKNOWN)]
    _, first = np.unique(group[chosen] * width + last[chosen], return_index=True)
    once: Column = chosen[first]
    return once


def _furthest(log: Log, reader: Column) -> Column:
    """The highest place that each of these operations polled."""
    op = log.rows["op"][log.reads]
    first = np.concatenate(([0], np.flatnonzero(changes(op)) + 1))
    highest = np.maximum.reduceat(log.place_read, first)
    found: Column = highest[np.searchsorted(op[first], reader)]
    return found


def _tell_part(log: Log, poll: int, last: int) -> Witness:
    row, rows = int(log.writer[last]), log.rows
    reader, writer = int(rows["op"][poll]), int(rows["op"][row])
    read = f"value {int(rows['value'][poll])} at offset {int(rows['offset'][poll])}"
    lies = int(log.pairs.offset[log.owns][log.place_of_value[last]])
    sentence = (
        f"{who(log, poll).capitalize()} read {read}, which transaction {writer} of {who(log, row)} sent, and polled on "
        f"behind offset {lies}, but not the last value sent by it, {int(log.values[last])} at offset {lies}."
    )
    return witness(log, sentence, (reader, writer), (poll, row), offset=lies)


def own_reads(log: Log) -> Shown | None:
    """Operations that polled what they sent themselves."""
    rows = log.rows
    if not log.has_transactions or len(log.writer) == 0:
        return None
    number = log.pairs.number[log.pairs.of_poll]
    sent = np.flatnonzero(number < log.sent_count)
    own = sent[rows["op"][log.writer[number[sent]]] == rows["op"][log.polls[sent]]]
    if len(own) == 0:
        return None
    ops, first = np.unique(rows["op"][log.polls[own]], return_index=True)
    told = {int(op): _tell_own(log, int(log.polls[own[at]])) for op, at in zip(ops[:SHOWN], first[:SHOWN], strict=True)}
    return Shown(ops, told)


def _tell_own(log: Log, poll: int) -> str:
    rows = log.rows
    what = f"value {int(rows['value'][poll])} at offset {int(rows['offset'][poll])} of {rows.topic}-{rows.part}"
    return f"{who(log, poll).capitalize()} polled {what}, which it sent itself in the same operation."


def join_shown(found: Sequence[Shown]) -> Shown:
    ops = np.unique(np.concatenate([_NO_OPS, *(one.ops for one in found)]))
    told: dict[int, str] = {}
    for one in found:
        for op, sentence in one.sentences.items():
            told[op] = min(told.get(op, sentence), sentence)
    return Shown(ops, {op: told[op] for op in sorted(told)[:SHOWN]})


def judge_own_reads(found: Shown) -> Iterator[Finding]:
    witnesses = [Witness(sentence, (op,), (op,)) for op, sentence in found.sentences.items()]
    yield Finding("precommitted-read", len(found.ops), tuple(witnesses))


def pieces(log: Log) -> Pieces | None:
    """Of each committed transaction, a send to this partition that is in its final read, and one that is not."""
    rows = log.rows
    if not log.context.finally_read or not log.has_transactions:
        return None
    final = log.context.final
    assert final is not None
    row, offset = log.writer, rows["offset"][log.writer]
    asked = (rows["kind"][row] == Kind.TXN) & log.committed
    asked &= (offset == MISSING) | ((offset >= final.log_start) & (final.end is None or offset < final.end))
    chosen = np.flatnonzero(asked)
    row = row[chosen]
    there = log.read_finally[chosen].astype(np.int64)
    found = {name: rows[name][row].astype(np.int64) for name in ("op", "value", "process", "invoked")}
    return _one_each(Pieces((f"{rows.topic}-{rows.part}",), found | {"there": there, "place": np.zeros(len(row), np.int64)}))


def join_pieces(found: Sequence[Pieces]) -> Pieces:
    names = tuple(sorted({name for one in found for name in one.names}))
    where = [np.array([names.index(name) for name in one.names], np.int64)[one.columns["place"]] for one in found]
    columns = {name: np.concatenate([one.columns[name] for one in found]) for name in found[0].columns}
    return _one_each(Pieces(names, columns | {"place": np.concatenate(where)}))


def judge_torn(found: Pieces) -> Iterator[Finding]:
    """By operation the one that is not there comes first."""
    op = found.columns["op"]
    torn = np.flatnonzero(op[1:] == op[:-1])
    witnesses = []
    for at in torn[:SHOWN].tolist():
        one = int(op[at])
        sentence = f"Transaction {one} is committed, but only a part of it is there: {found.tell(at)}; {found.tell(at + 1)}."
        witnesses.append(Witness(sentence, (one,), (one,)))
    yield Finding("torn-transaction", len(torn), tuple(witnesses))


def _one_each(found: Pieces) -> Pieces:
    columns = found.columns
    order = order_by(columns["op"], columns["there"], columns["place"], columns["value"])
    once = np.concatenate(([True], changes(columns["op"][order], columns["there"][order]))) if len(order) else np.empty(0, np.bool_)
    return Pieces(found.names, {name: column[order[once]] for name, column in columns.items()})


CHECKS = (Check(("G1b",), ("f", "kind", "outcome", "value", "offset"), intermediate_reads),)
JOINED = (
    Joined(("precommitted-read",), ("f", "kind", "outcome", "value", "offset"), own_reads, join_shown, judge_own_reads),
    Joined(("torn-transaction",), ("f", "kind", "outcome", "value", "offset", "phase"), pieces, join_pieces, judge_torn),
)
