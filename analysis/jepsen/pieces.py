"""Rows to history files, a piece at a time: what is held is one piece, however long the history is.

An operation's rows share most columns, so those are kept once an operation and repeated when the piece is written. Names are numbered
anew in each piece; readers join them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.jepsen.foreign import Place
from analysis.jepsen.layout import Row
from analysis.jepsen.pairing import Paired
from analysis.partition import MISSING
from harness.history.buckets import bucket_of
from harness.history.files import finished_path
from harness.history.layout import BucketFileWriter
from harness.history.schema import DEFAULT_BUCKETS, NO_PARTITION, ROWS, Kind, Phase

ROWS_A_PIECE = 1_000_000
MOST_ERRORS = 1_000
"""Different errors of one piece; the others are all called OTHER_ERROR."""
OTHER_ERROR = "other"

_OF_OPERATION = ("process", "op", "kind", "outcome", "error", "invoked", "completed")
_OF_ROW = ("f", "place", "value", "offset")
_NULL = int(MISSING)


class PieceWriter:
    """`rows` is what has been added in all; the last piece is written when it is closed without an error."""

    def __init__(self, run: Path, worker: int, rows_a_piece: int = ROWS_A_PIECE) -> None:
        self._run, self._worker, self._rows_a_piece = run, worker, rows_a_piece
        self._pieces = self.rows = 0
        self._begin()

    def add(self, op: Paired, kind: Kind, rows: Sequence[Row]) -> None:
        if not rows:
            return
        completed = _NULL if op.completed is None else op.completed
        shared = (op.process, op.number, kind, op.outcome, self._error(op.error), op.invoked, completed)
        for name, common in zip(_OF_OPERATION, shared, strict=True):
            self._columns[name].append(common)
        self._counts.append(len(rows))
        f, place, value, offset = (self._columns[name] for name in _OF_ROW)
        for row in rows:
            f.append(row.f)
            place.append(NO_PARTITION if row.place is None else self._place(row.place))
            value.append(_NULL if row.value is None else row.value)
            offset.append(_NULL if row.offset is None else row.offset)
        self.rows += len(rows)
        if len(f) >= self._rows_a_piece:
            self._write()

    def __enter__(self) -> PieceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._write()

    def _begin(self) -> None:
        self._columns = {name: array("q") for name in (*_OF_OPERATION, *_OF_ROW)}
        self._counts = array("q")
        self._places: dict[Place, int] = {}
        self._errors: dict[str, int] = {}

    def _place(self, place: Place) -> int:
        return self._places.setdefault(place, len(self._places))

    def _error(self, error: str | None) -> int:
        if error is None:
            return _NULL
        if error not in self._errors and len(self._errors) >= MOST_ERRORS:
            error = OTHER_ERROR
        return self._errors.setdefault(error, len(self._errors))

    def _write(self) -> None:
        if not self._counts:
            return
        topics = {topic: number for number, topic in enumerate(dict.fromkeys(topic for topic, _ in self._places))}
        table = self._table(topics)
        buckets = np.array([bucket_of(*place) for place in self._places] + [NO_PARTITION], np.int64)[_numpy(self._columns["place"])]
        order = np.argsort(buckets, kind="stable")
        numbers, starts = np.unique(buckets[order], return_index=True)
        names = {"topic": list(topics), "error": list(self._errors), "group": []}
        with BucketFileWriter(finished_path(self._run, self._worker, self._pieces), DEFAULT_BUCKETS, names) as writer:
            for bucket, start, end in zip(numbers.tolist(), starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
                writer.write(bucket, table.take(pa.array(order[start:end])))
        self._pieces += 1
        self._begin()

    def _table(self, topics: dict[str, int]) -> pa.Table:
        counts = _numpy(self._counts)
        columns = {name: np.repeat(_numpy(self._columns[name]), counts) for name in _OF_OPERATION}
        columns |= {name: _numpy(self._columns[name]) for name in _OF_ROW if name != "place"}
        columns["micro"] = np.arange(len(columns["f"])) - np.repeat(np.cumsum(counts) - counts, counts)
        columns["phase"] = np.full(len(columns["f"]), Phase.RUN, np.int64)
        place = _numpy(self._columns["place"])
        columns["topic"] = np.array([topics[topic] for topic, _ in self._places] + [_NULL], np.int64)[place]
        columns["part"] = np.array([part for _, part in self._places] + [_NULL], np.int64)[place]
        return pa.Table.from_arrays([_array(field, columns.get(field.name), len(place)) for field in ROWS], schema=ROWS)


def _numpy(column: array[int]) -> npt.NDArray[np.int64]:
    return np.frombuffer(column, np.int64)


def _array(field: pa.Field, column: npt.NDArray[np.int64] | None, count: int) -> pa.Array:
    if column is None:
        return pa.nulls(count, field.type)
    null = column == MISSING
    return pa.array(np.where(null, 0, column).astype(field.type.to_pandas_dtype()), field.type, mask=null)
