"""All rows of one topic-partition as numpy columns: what nearly every check looks at.

A bucket is read once, sorted by topic and partition and cut; a check gets one partition after the other and never sees the rest.
Columns are int64 whatever the file has, and what is null is MISSING. Words are numbers as in `harness.history.schema` (Kind, Function,
Outcome), whatever the file numbered them. Rows are in the order of operation and micro-operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from harness.history.schema import FIXED_WORDS, ROWS

MISSING = np.iinfo(np.int64).min
Column = npt.NDArray[np.int64]
Names = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Partition:
    """`partition["offset"]` is a column. `names[column]` has the words of `error` and `group`."""

    topic: str
    part: int
    columns: dict[str, Column]
    names: Names

    def __getitem__(self, column: str) -> Column:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.columns["op"])

    def only(self, mask: npt.NDArray[np.bool_]) -> Partition:
        """The rows for which it holds."""
        return Partition(self.topic, self.part, {name: column[mask] for name, column in self.columns.items()}, self.names)


def partitions_of(rows: pa.Table, names: Names) -> Iterator[Partition]:
    """The partitions of a bucket. `names` is the history's: numbers of kind, f and outcome become those of the schema."""
    columns = {name: _column(rows, name, names) for name in rows.column_names}
    order = np.lexsort((columns["micro"], columns["op"], columns["part"], columns["topic"]))
    columns = {name: column[order] for name, column in columns.items()}
    topic, part = columns["topic"], columns["part"]
    if len(topic) == 0:
        return
    edges = np.flatnonzero((np.diff(topic) != 0) | (np.diff(part) != 0)) + 1
    for start, end in zip((0, *edges), (*edges, len(topic)), strict=True):
        if topic[start] != MISSING and part[start] != MISSING:
            cut = {name: column[start:end] for name, column in columns.items()}
            yield Partition(names["topic"][topic[start]], int(part[start]), cut, names)


def empty_partition(topic: str, part: int, columns: Sequence[str] = ROWS.names) -> Partition:
    """Of a partition that has no rows."""
    return Partition(topic, part, {name: np.empty(0, np.int64) for name in columns}, FIXED_WORDS | {"error": [], "topic": [], "group": []})


def _column(rows: pa.Table, name: str, names: Names) -> Column:
    found = rows[name].combine_chunks().cast(pa.int64())
    values: Column = found.fill_null(int(MISSING)).to_numpy(zero_copy_only=False)
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        where = np.array([FIXED_WORDS[name].index(word) if word in FIXED_WORDS[name] else -1 for word in names[name]], np.int64)
        values = np.where(values == MISSING, MISSING, where[values])
    return values
