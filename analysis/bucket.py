"""The rows of a bucket, as much of them at a time as a task may hold.

Mostly that is all of them. A bucket that has more is read one partition at a time, file by file, so that the whole is never in memory; of
a partition that alone has more there are ranges of values, offsets or operations (see `pieces`). A file that cannot be read costs its rows
and is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from analysis.partition import Column, Rest
from analysis.pieces import By, Range, only_range
from harness.history.errors import MalformedFile
from harness.history.readers import History, HistoryFile, may_hold

Spot = tuple[int, int]
"""A partition: numbers of its topic, as the history has them, and its own."""

_OF_A_SAMPLE = 97
"""One row in so many is looked at to find ranges that hold about as much each."""


class Bucket:
    """`problems` has a sentence for every file that could not be read."""

    def __init__(self, history: History, number: int, most_rows: int) -> None:
        self.problems: list[str] = []
        self.history = history
        self.number = number
        self._most_rows = most_rows
        self._sound = list(history.files)

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[pa.Table, Rest]]:
        """All rows but those of partitions that are too large; each with what reads more columns of the same rows."""
        if self.history.rows_of(self.number) <= self._most_rows:
            yield self.read(columns), self.read
            return
        yield from ((rows.filter(pc.invert(_has_place(rows))), _nothing_more) for rows in self._each(columns))
        for spot, rows in self._spots().items():
            if rows <= self._most_rows:
                yield self.read(columns, spot), partial(self.read, spot=spot)

    def too_large(self) -> dict[Spot, int]:
        """Partitions that are only to be had in pieces, and their rows."""
        if self.history.rows_of(self.number) <= self._most_rows:
            return {}
        return {spot: rows for spot, rows in self._spots().items() if rows > self._most_rows}

    def ranges_of(self, spot: Spot, by: By) -> tuple[Column, int]:
        """A sample of the column, and into how many pieces it should be cut."""
        sampled = [_at(rows, spot)[by].drop_null().to_numpy()[::_OF_A_SAMPLE] for rows in self._each(("topic", "part", by))]
        return np.concatenate(sampled), -(-self.too_large()[spot] // self._most_rows)

    def piece(self, spot: Spot, by: By, within: Range, columns: Sequence[str]) -> pa.Table:
        """The rows of a range; files that have none of it are not read."""
        return self._joined(only_range(_at(rows, spot), by, within) for rows in self._each(columns, by, within))

    def read(self, columns: Sequence[str], spot: Spot | None = None) -> pa.Table:
        """Of the whole bucket or of one partition."""
        if spot is None:
            return self._joined(self._each(columns), columns)
        needed = [*dict.fromkeys((*columns, "topic", "part"))]
        return self._joined((_at(rows, spot).select(list(columns)) for rows in self._each(needed)), columns)

    def _spots(self) -> Counter[Spot]:
        found: Counter[Spot] = Counter()
        for rows in self._each(("topic", "part")):
            places = rows.filter(_has_place(rows)).group_by(["topic", "part"]).aggregate([([], "count_all")])
            found.update(
                dict(
                    zip(
                        zip(*(places[name].to_pylist() for name in ("topic", "part")), strict=True),
                        places["count_all"].to_pylist(),
                        strict=True,
                    )
                )
            )
        return found

    def _each(self, columns: Sequence[str], by: By | None = None, within: Range | None = None) -> Iterator[pa.Table]:
        for file in tuple(self._sound):
            try:
                if by is not None and within is not None and not may_hold(file, self.number, by, within):
                    continue
                yield from self._only(file).read_each(self.number, columns)
            except MalformedFile as problem:
                self._sound.remove(file)
                self.problems.append(str(problem))

    def _joined(self, tables: Iterator[pa.Table], columns: Sequence[str] | None = None) -> pa.Table:
        several = list(tables)
        return pa.concat_tables(several) if several else self._only().read(self.number, columns)

    def _only(self, *files: HistoryFile) -> History:
        return History(files, self.history.buckets, self.history.names)


def _at(rows: pa.Table, spot: Spot) -> pa.Table:
    topic, part = spot
    return rows.filter(pc.and_(pc.equal(rows["topic"], topic), pc.equal(rows["part"], part)))


def _has_place(rows: pa.Table) -> pa.ChunkedArray:
    return pc.and_(pc.is_valid(rows["topic"]), pc.is_valid(rows["part"]))


def _nothing_more(columns: Sequence[str]) -> pa.Table:
    raise KeyError(*columns)
