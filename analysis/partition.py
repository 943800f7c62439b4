"""All rows of one topic-partition as numpy columns: what nearly every check looks at.

A bucket is read once, sorted by topic and partition and cut; a check gets one partition after the other and never sees the rest. What is
null is MISSING, in a column that may have it; the other columns have the numbers as wide as the file has them. Words are numbers as in
`harness.history.schema` (Kind, Function, Outcome), whatever the file numbered them. Rows are in the order of operation and micro-operation.

Reading and moving columns costs as much as the checks. So a column is put in order when it is first asked for, and one that only
witnesses need is not even read before: `rest` reads it then, once for the bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from harness.history.schema import FIXED_WORDS, ROWS

MISSING = np.iinfo(np.int64).min
Column = npt.NDArray[np.int64]
Names = Mapping[str, Sequence[str]]
Rest = Callable[[Sequence[str]], pa.Table]


class Columns(dict[str, Column]):
    """By name; one that is not there is made by `load`."""

    def __init__(self, load: Callable[[str], Column], given: Mapping[str, Column] | None = None) -> None:
        super().__init__(given or {})
        self._load = load

    def __missing__(self, name: str) -> Column:
        self[name] = found = self._load(name)
        return found


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

    def only(self, chosen: npt.NDArray[np.bool_] | Column) -> Partition:
        """The rows for which it holds, or those at these positions."""
        return Partition(self.topic, self.part, Columns(lambda name: self.columns[name][chosen]), self.names)


def partitions_of(rows: pa.Table, names: Names, rest: Rest | None = None) -> Iterator[Partition]:
    """The partitions of a bucket. `names` is the history's: numbers of kind, f and outcome become those of the schema.

    `rest(columns)` reads columns of the same rows in the same order; without it there are only those of `rows`.
    """
    bucket = Columns(partial(_read, rows, names, rest))
    if rows.num_rows == 0:
        return
    topic, part = bucket["topic"], bucket["part"]
    order = _sorted_by_partition(topic, part)
    topic, part = topic[order], part[order]
    edges = np.flatnonzero((topic[1:] != topic[:-1]) | (part[1:] != part[:-1])) + 1
    for start, end in zip((0, *edges), (*edges, len(order)), strict=True):
        if topic[start] != MISSING and part[start] != MISSING:
            chosen = _by_operation(order[start:end], bucket["op"], bucket["micro"])
            yield Partition(names["topic"][topic[start]], int(part[start]), Columns(partial(_cut, bucket, chosen)), names)


def empty_partition(topic: str, part: int) -> Partition:
    """Of a partition that has no rows."""
    words = FIXED_WORDS | {"error": [], "topic": [], "group": []}
    return Partition(topic, part, {name: np.empty(0, np.int64) for name in ROWS.names}, words)


def _sorted_by_partition(topic: Column, part: Column) -> Column:
    number = np.where((topic == MISSING) | (part == MISSING), -1, topic * (part.max() + 1) + part)
    if number.min() >= -1 and number.max() < 2**16 - 1:
        return np.argsort((number + 1).astype(np.uint16), kind="stable")
    return np.lexsort((part, topic))


def _by_operation(rows: Column, op: Column, micro: Column) -> Column:
    op, micro = op[rows], micro[rows]
    later, same = op[1:] > op[:-1], op[1:] == op[:-1]
    if (later | (same & (micro[1:] >= micro[:-1]))).all():
        return rows
    return rows[np.lexsort((micro, op))]


def _cut(bucket: Columns, chosen: Column, name: str) -> Column:
    return bucket[name][chosen]


def _read(rows: pa.Table, names: Names, rest: Rest | None, name: str) -> Column:
    if name not in rows.column_names:
        if rest is None:
            raise KeyError(name)
        rows = rest([name])
    found = rows[name].combine_chunks()
    nullable = ROWS.field(name).nullable
    values: Column = (found.cast(pa.int64()).fill_null(int(MISSING)) if nullable else found).to_numpy(zero_copy_only=False)
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        where = np.array([FIXED_WORDS[name].index(word) if word in FIXED_WORDS[name] else -1 for word in names[name]], np.int64)
        values = where[values].astype(values.dtype)
    return values
