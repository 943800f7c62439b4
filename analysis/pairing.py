"""Which values lie at which offsets, when nearly every row says the same of its offset.

Many read what one has written, so of a hundred rows about an offset all hundred agree. Sorting them to find that out is most of the work
of a check. Instead each row writes its value into a table by offset, and then looks whether it still finds it there. Whoever does is
agreed with by the last that wrote, and so by all that do: an offset of which no row disagrees has exactly one value, and the table has
it. All rows of the other offsets, few or none, are sorted. Nothing is left out: a second value at an offset has at least one row, and
either that one or the one that overwrote it finds another value than its own.

Offsets of a partition lie close together wherever they begin, so the table starts at the smallest. Where they do not, everything is sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.partition import MISSING, Column
from analysis.sorting import changes, order_by, order_of

_ROOM = 4
"""Offsets a row up to which a table is worth its memory."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Every offset with a value that lies at it, sorted by both; and of each row which of these it told."""

    offset: Column
    value: Column
    of_row: Column


def pair_up(offset: Column, value: Column) -> Paired:
    """Hot path, guarded by `./highwater bench analysis`. Both are known of every row."""
    if len(offset) == 0:
        return Paired(offset, value, np.empty(0, np.int64))
    low, high = int(offset.min()), int(offset.max())
    return _in_a_table(offset, value, low, high) if high - low < _ROOM * len(offset) else _sorted(offset, value)


def _in_a_table(offset: Column, value: Column, low: int, high: int) -> Paired:
    at = offset - low
    table = np.full(high - low + 1, MISSING)
    table[at] = value
    differs = table[at] != value
    there = table != MISSING
    if differs.any():
        return _with_residue(_rows_at(at, at[differs], len(table)), at, value, table, there, low)
    filled = np.flatnonzero(there)
    place = at if len(filled) == len(table) else (np.cumsum(there) - 1)[at]
    return Paired(filled + low, table[filled], place)


def _rows_at(at: Column, wanted: Column, length: int) -> Column:
    doubtful = np.zeros(length, np.bool_)
    doubtful[wanted] = True
    return np.flatnonzero(doubtful[at])


def _with_residue(rows: Column, at: Column, value: Column, table: Column, there: Column, low: int) -> Paired:
    """`rows` are all of those offsets of which not every row says the same."""
    residue = _sorted(at[rows], value[rows])
    counts = there.astype(np.int64)
    counts[residue.offset] = 0
    np.add.at(counts, residue.offset, 1)
    starts = np.cumsum(counts) - counts
    place = starts[at]
    first = np.searchsorted(residue.offset, residue.offset)
    place[rows] += residue.of_row - first[residue.of_row]
    filled = np.flatnonzero(there)
    values = np.repeat(table[filled], counts[filled])
    values[starts[residue.offset] + np.arange(len(first)) - first] = residue.value
    return Paired(np.repeat(filled + low, counts[filled]), values, place)


def _sorted(offset: Column, value: Column) -> Paired:
    order = order_of(offset)
    differs = changes(offset[order])
    if (value[order[1:]] != value[order[:-1]])[~differs].any():
        order = order_by(offset, value)
        differs = changes(offset[order], value[order])
    first = order[np.concatenate(([0], np.flatnonzero(differs) + 1))]
    of_row = np.empty(len(offset), np.int64)
    of_row[order] = np.concatenate(([0], np.cumsum(differs)))
    return Paired(offset[first], value[first], of_row)
