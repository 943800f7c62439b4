"""Whether a history can have happened at all. One that cannot condemns the harness that recorded it, never the broker.

Every process is its own witness: its operations are numbered in the order of its calls, so their times may not run back; nothing ends
before it began; what took effect has ended; and a process that polls does one thing at a time. Seen bucket by bucket: two operations of one
process that share no bucket are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.columns import OF_A_CALL, Calls, Rows
from analysis.partition import MISSING, Column
from analysis.sorting import order_by, order_of, parted_by
from harness.history.schema import Function, Kind, Outcome

COLUMNS = OF_A_CALL
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Illegal:
    """How many, and the first few told."""

    count: int = 0
    sentences: tuple[str, ...] = ()


def add_up(found: Iterable[Illegal]) -> Illegal:
    several = list(found)
    return Illegal(sum(one.count for one in several), tuple(sorted({text for one in several for text in one.sentences}))[:SHOWN])


def illegal_rows(columns: Rows) -> Illegal:
    """Of the rows of a bucket, in any order."""
    calls = columns.calls
    ended = calls["completed"] != MISSING
    took_effect = (calls["outcome"] == Outcome.OK) & (calls["f"] == Function.SEND)
    return add_up(
        [
            _tell(calls, ended & (calls["completed"] < calls["invoked"]), "ended before it began"),
            _tell(calls, took_effect & ~ended, "took effect and never ended"),
            _out_of_order(calls, (calls["kind"] != Kind.SEND) & (calls["kind"] != Kind.TXN)),
        ]
    )


def _out_of_order(columns: Calls, one_at_a_time: npt.NDArray[np.bool_]) -> Illegal:
    """Each call against the one before of the same process, where that is of another operation.

    Where calls and times rise together whoever made them, as they do in the file of a worker, only those who wait are looked at closely.
    """
    if _rise_together(columns):
        some = np.flatnonzero(one_at_a_time)
        order = some[order_of(columns["process"][some])]
    else:
        order = order_by(columns["process"], columns["op"])
    calls = {name: columns[name][order] for name in ("process", "op", "invoked", "completed")}
    waits = one_at_a_time[order]
    next_call = np.zeros(len(order), bool)
    next_call[1:] = (calls["process"][1:] == calls["process"][:-1]) & (calls["op"][1:] != calls["op"][:-1])
    back, overlapping = next_call, next_call & waits
    back[1:] &= calls["invoked"][1:] < calls["invoked"][:-1]
    overlapping[1:] &= ~back[1:] & waits[:-1] & (calls["invoked"][1:] < calls["completed"][:-1])
    return add_up(
        [
            _tell(calls, back, "was called after another of its process and began before it: the clock ran back"),
            _tell(calls, overlapping, "began before its process's last one had ended"),
        ]
    )


def _rise_together(calls: Calls) -> bool:
    """Whether no process can have gone back in time: where operations or times fall, those of other processes begin."""
    op, invoked, process = calls["op"], calls["invoked"], calls["process"]
    falls = np.flatnonzero((op[1:] < op[:-1]) | (invoked[1:] < invoked[:-1])) + 1
    return parted_by(falls, process)


def _tell(columns: Mapping[str, Column], guilty: npt.NDArray[np.bool_], what: str) -> Illegal:
    rows = np.flatnonzero(guilty)
    shown = rows[np.argsort(columns["op"][rows], kind="stable")[:SHOWN]]
    return Illegal(len(rows), tuple(f"operation {columns['op'][row]} of process {columns['process'][row]} {what}" for row in shown))
