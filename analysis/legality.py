"""Whether a history can have happened at all. One that cannot condemns the harness that recorded it, never the broker.

Every process is its own witness: its operations are numbered in the order of its calls, so their times may not run back; nothing ends
before it began; what took effect has ended; and a process that polls does one thing at a time. Seen bucket by bucket: two operations of one
process that share no bucket are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.partition import MISSING, Column
from harness.history.schema import Function, Kind, Outcome

COLUMNS = ("process", "op", "kind", "f", "outcome", "invoked", "completed")
SHOWN = 3
_SENDING = (int(Kind.SEND), int(Kind.TXN))


@dataclass(frozen=True, slots=True)
class Illegal:
    """How many, and the first few told."""

    count: int = 0
    sentences: tuple[str, ...] = ()


def add_up(found: Iterable[Illegal]) -> Illegal:
    several = list(found)
    return Illegal(sum(one.count for one in several), tuple(sorted({text for one in several for text in one.sentences}))[:SHOWN])


def illegal_rows(columns: dict[str, Column]) -> Illegal:
    """Of the rows of a bucket, in any order."""
    ended = columns["completed"] != MISSING
    return add_up(
        [
            _tell(columns, ended & (columns["completed"] < columns["invoked"]), "ended before it began"),
            _tell(columns, ~ended & (columns["outcome"] == Outcome.OK) & (columns["f"] == Function.SEND), "took effect and never ended"),
            _tell_order(columns),
        ]
    )


def _tell_order(columns: dict[str, Column]) -> Illegal:
    """One row an operation, in the order of each process's calls."""
    _, first = np.unique(columns["op"], return_index=True)
    order = first[np.lexsort((columns["op"][first], columns["process"][first]))]
    calls = {name: columns[name][order] for name in COLUMNS}
    same = np.zeros(len(order), bool)
    same[1:] = calls["process"][1:] == calls["process"][:-1]
    back, overlapping = same.copy(), same.copy()
    back[1:] &= calls["invoked"][1:] < calls["invoked"][:-1]
    pipelined = np.isin(calls["kind"], _SENDING)
    overlapping[1:] &= ~pipelined[1:] & ~pipelined[:-1] & (calls["completed"][:-1] != MISSING)
    overlapping[1:] &= calls["invoked"][1:] < calls["completed"][:-1]
    overlapping &= ~back
    return add_up(
        [
            _tell(calls, back, "was called after, and began before, another of its process: the clock ran back"),
            _tell(calls, overlapping, "began before its process's last one had ended"),
        ]
    )


def _tell(columns: dict[str, Column], guilty: npt.NDArray[np.bool_], what: str) -> Illegal:
    rows = np.flatnonzero(guilty)
    shown = rows[np.argsort(columns["op"][rows], kind="stable")[:SHOWN]]
    return Illegal(len(rows), tuple(f"operation {columns['op'][row]} of process {columns['process'][row]} {what}" for row in shown))
