"""A partition too large for a task's memory, checked in pieces that are not.

What compares the places of one value is judged on ranges of values, what compares the values of one place on ranges of offsets: an
instance is whole in one piece, and the counts add up. Only a value overruled at an offset by a smaller one of another piece has to be told
(`Context.overruled`), which the ranges of offsets show first. The order of one client's sends is carried from piece to piece: for that,
values of one client must rise in the order sent, as they do in every recorded history.

The driver chooses the ranges (`ranges`, from a sample of the column), and reads a piece with `only_range`, file by file, so that the whole
is never in memory. What `IN_PIECES` has not got cannot be judged this way; the driver says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from analysis.context import Context
from analysis.families import CORE, columns_for, find_in
from analysis.findings import Finding
from analysis.log import Log
from analysis.partition import Column, Partition
from analysis.reordering import Sends, late, sends_of

By = Literal["value", "offset"]
Range = tuple[int, int]
Pieces = Callable[[By], Iterable[Partition]]

BY_VALUE = ("G1a", "unseen", "phantom", "lost", "lost-after-read", "duplicate")
BY_OFFSET = ("inconsistent-offsets", "ack-conflict", "read-conflict", "corrupt", "misplaced")
IN_PIECES = (*BY_OFFSET, *BY_VALUE, "reordered")
COLUMNS = tuple(dict.fromkeys((*columns_for(IN_PIECES), "key", "process", "invoked", "completed")))
assert set(CORE) <= set(IN_PIECES)


def find_in_pieces(pieces: Pieces, context: Context, names: Collection[str] = IN_PIECES) -> Iterator[Finding]:
    """`pieces(column)` reads the partition anew, one piece a range of that column, rising."""
    overruled = []
    for piece in pieces("offset"):
        log = Log(piece, context)
        yield from find_in(log, set(BY_OFFSET) & set(names))
        overruled.append(log.overruled())
    told = replace(context, overruled=np.concatenate([context.overruled, *overruled]))
    before: Sends | None = None
    for piece in pieces("value"):
        log = Log(piece, told)
        yield from find_in(log, set(BY_VALUE) & set(names))
        if "reordered" in names:
            found, before = late(log, sends_of(log), before)
            yield found


def ranges(sample: Column, count: int) -> list[Range]:
    """About as much of the column in each; together they hold every number."""
    ranked = np.sort(sample)
    cuts = np.unique(ranked[np.arange(1, count) * len(ranked) // count]) if len(ranked) else ranked
    return list(pairwise([int(np.iinfo(np.int64).min), *cuts.tolist(), int(np.iinfo(np.int64).max)]))


def only_range(rows: pa.Table, column: By, within: Range) -> pa.Table:
    """The rows whose number is in the range; the last range has its end. Rows without the number are in none."""
    low, high = within
    last = high == np.iinfo(np.int64).max
    below = pc.less_equal(rows[column], high) if last else pc.less(rows[column], high)
    return rows.filter(pc.and_(pc.greater_equal(rows[column], low), below))
