"""All rows of one topic-partition as numpy columns: what nearly every check looks at.

A bucket is read once, cut by topic and partition and put in order (see `runs`); a check gets one partition after the other and never sees
the rest. What is null is MISSING, in a column that may have it; the other columns have the numbers as wide as the file has them. Words are
numbers as in `harness.history.schema` (Kind, Function, Outcome), whatever the file numbered them. Rows are in the order of operation and
micro-operation.

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

from analysis.runs import Runs, runs_of
from harness.history.schema import FIXED_WORDS, ROWS

MISSING = np.iinfo(np.int64).min
NOWHERE = -1
Column = npt.NDArray[np.int64]
Names = Mapping[str, Sequence[str]]
Rest = Callable[[Sequence[str]], pa.Table]

_TOLD = ("process", "key", "invoked", "completed")
"""What sentences speak of and most checks do not read."""


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


def partitions_of(rows: pa.Table, names: Names, numbers: Columns | None = None) -> Iterator[Partition]:
    """The partitions of a bucket. `names` is the history's: numbers of kind, f and outcome become those of the schema.

    `numbers` are those of the rows, where somebody has them already, or of more columns than the table has.
    """
    bucket = Columns(partial(_read, numbers_in(rows) if numbers is None else numbers, names))
    if rows.num_rows == 0:
        return
    topic, part = (_numbers(rows[name]) for name in ("topic", "part"))
    runs = runs_of(topic, part, bucket["op"], bucket["micro"])
    for some in by_place(topic[runs.starts], part[runs.starts]):
        first = runs.starts[some[0]]
        if topic[first] != NOWHERE and part[first] != NOWHERE:
            chosen = runs.only(some).joined(bucket["op"], bucket["micro"])
            yield Partition(names["topic"][topic[first]], int(part[first]), Columns(partial(_cut, bucket, chosen)), names)


def numbers_in(rows: pa.Table, rest: Rest | None = None) -> Columns:
    """The columns of a table. `rest(columns)` reads others of the same rows in the same order; without it there are no others."""
    tables = _Tables(rows, rest)
    return Columns(lambda name: numbers_of(tables[name], ROWS.field(name)))


def numbers_of(column: pa.ChunkedArray, field: pa.Field) -> Column:
    """In one piece, int64 and MISSING where it may be null. Chunk by chunk, for what is in the cache is not fetched from memory thrice."""
    if not field.nullable:
        plain: Column = column.combine_chunks().to_numpy(zero_copy_only=False)
        return plain
    numbers = np.empty(len(column), np.int64)
    end = 0
    for chunk in column.chunks:
        start, end = end, end + len(chunk)
        _put(chunk, numbers[start:end])
    return numbers


def _put(chunk: pa.Array, numbers: Column) -> None:
    """What lies in the place of a null is copied with the rest and put right afterwards: one pass less than filling it first."""
    if chunk.null_count == len(chunk):
        numbers[:] = MISSING
        return
    known, values = chunk.buffers()
    first, last = chunk.offset, chunk.offset + len(chunk)
    numbers[:] = np.frombuffer(values, chunk.type.to_pandas_dtype())[first:last]
    if chunk.null_count:
        bits = np.unpackbits(np.frombuffer(known, np.uint8, count=-(-last // 8)), count=last, bitorder="little")
        numbers[bits[first:] == 0] = MISSING


def by_place(topic: npt.NDArray[np.integer], part: npt.NDArray[np.integer]) -> list[Column]:
    """Positions with the same topic and partition together, in their order."""
    order = np.lexsort((part, topic))
    edges = np.flatnonzero((np.diff(topic[order]) != 0) | (np.diff(part[order]) != 0)) + 1
    return np.split(order, edges)


def empty_partition(topic: str, part: int) -> Partition:
    """Of a partition that has no rows."""
    words = FIXED_WORDS | {"error": [], "topic": [], "group": []}
    return Partition(topic, part, {name: np.empty(0, np.int64) for name in ROWS.names}, words)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Of topics or partitions, NOWHERE where there is none."""
    found: npt.NDArray[np.int32] = (column.fill_null(NOWHERE) if column.null_count else column).to_numpy()
    return found


def _cut(bucket: Columns, chosen: Runs | Column, name: str) -> Column:
    return chosen.of(bucket[name]) if isinstance(chosen, Runs) else bucket[name][chosen]


class _Tables:
    """What has been read of a bucket, and how to read more: whoever tells of a witness needs several columns, which are read together."""

    def __init__(self, rows: pa.Table, rest: Rest | None) -> None:
        self._read = [rows]
        self._rest = rest

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        known = {column: table for table in self._read for column in table.column_names}
        if name not in known:
            if self._rest is None:
                raise KeyError(name)
            self._read.append(self._rest([column for column in dict.fromkeys((name, *_TOLD)) if column not in known]))
            known[name] = self._read[-1]
        return known[name][name]


def _read(numbers: Columns, names: Names, name: str) -> Column:
    values = numbers[name]
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        where = np.array([FIXED_WORDS[name].index(word) if word in FIXED_WORDS[name] else -1 for word in names[name]], np.int64)
        values = where[values].astype(values.dtype)
    return values
