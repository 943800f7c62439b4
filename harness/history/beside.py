"""The files beside the history: one class a file, a field a column.

Operations over several partitions, final reads, dumps of the replicas' logs, what the brokers told, what was done to them. Written once,
when the run is over or the dump is taken, and whole or not at all. Log dumps are as long as the history itself: they are written
in pieces, as columns where the writer has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from harness.history.errors import MalformedFile
from harness.history.files import appear, unfinished
from harness.history.schema import FIXED_WORDS, METADATA_KEY, VERSION, Outcome

PIECE = 100_000
_TYPES = {"i4": pa.int32(), "i8": pa.int64(), "word": pa.int8(), "text": pa.string(), "texts": pa.list_(pa.string())}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation over several partitions, so that whether it was committed is known before the buckets are read."""

    FILE: ClassVar = "ops.parquet"
    COLUMNS: ClassVar = "op:i8 process:i4 outcome:word invoked:i8 completed:i8? partitions:i4"
    op: int
    process: int
    outcome: Outcome
    invoked: int
    completed: int | None
    partitions: int


@dataclass(frozen=True, slots=True)
class Final:
    """What one final reader found in one partition; `end` is what the brokers reported, `last_read` null where nothing was."""

    FILE: ClassVar = "finals.parquet"
    COLUMNS: ClassVar = "topic:text part:i4 log_start:i8 end:i8 last_read:i8? process:i4 invoked:i8 completed:i8?"
    topic: str
    part: int
    log_start: int
    end: int
    last_read: int | None
    process: int
    invoked: int
    completed: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch in one replica's log, with that replica's high watermark and log end."""

    FILE: ClassVar = "batches.parquet"
    COLUMNS: ClassVar = (
        "node:text topic:text part:i4 base_offset:i8 last_offset:i8 leader_epoch:i4 crc:i8 "
        "producer_id:i8 producer_epoch:i4 sequence:i4 bytes:i4 high_watermark:i8? log_end:i8?"
    )
    node: str
    topic: str
    part: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    producer_id: int
    producer_epoch: int
    sequence: int
    bytes: int
    high_watermark: int | None
    log_end: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """A record in one replica's log; no value where the payload is not ours."""

    FILE: ClassVar = "records.parquet"
    COLUMNS: ClassVar = "node:text topic:text part:i4 offset:i8 value:i8?"
    node: str
    topic: str
    part: int
    offset: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """What a broker or the harness itself told. `t` is null where only the node's own clock knows. `detail` is JSON."""

    FILE: ClassVar = "events.parquet"
    COLUMNS: ClassVar = "t:i8? node:text event:text topic:text? part:i4? epoch:i4? detail:text?"
    t: int | None
    node: str
    event: str
    topic: str | None = None
    part: int | None = None
    epoch: int | None = None
    detail: str | None = None


PROVEN, COVERED, UNPROVEN = "proven", "covered by another fault", "unproven"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as planned and as it took place. `state` is PROVEN, COVERED or UNPROVEN; `proof` and `healed` are JSON."""

    FILE: ClassVar = "faults.parquet"
    COLUMNS: ClassVar = "id:i4 fault:text selector:text targets:texts planned:i8 start:i8? end:i8? proof:text? healed:text? state:text"
    id: int
    fault: str
    selector: str
    targets: list[str]
    planned: int
    start: int | None
    end: int | None
    proof: str | None
    healed: str | None
    state: str


Row = Operation | Final | Batch | Record | Event | Fault
AnyRow = TypeVar("AnyRow", Operation, Final, Batch, Record, Event, Fault)


def schema_of(kind: type[Row]) -> pa.Schema:
    """The columns, and in the metadata the version and the words of the outcomes."""
    columns = [(name, code) for name, _, code in (column.partition(":") for column in kind.COLUMNS.split())]
    footer = {"version": VERSION, "dictionaries": {name: FIXED_WORDS[name] for name, code in columns if code == "word"}}
    found = [pa.field(name, _TYPES[code.rstrip("?")], nullable=code.endswith("?")) for name, code in columns]
    return pa.schema(found, metadata={METADATA_KEY: json.dumps(footer)})


class RowsWriter:
    """Writes one file beside the history, in pieces. It appears when it is closed without an error."""

    def __init__(self, run: Path, kind: type[Row]) -> None:
        self._path = run / kind.FILE
        self._schema = schema_of(kind)
        self._names = [field.name for field in fields(kind)]
        assert self._names == self._schema.names, f"fields and columns of {kind.__name__} are the same"
        self._buffer: list[Row] = []
        self._writer = pq.ParquetWriter(unfinished(self._path), self._schema, compression="snappy")

    def add(self, row: Row) -> None:
        self._buffer.append(row)
        if len(self._buffer) >= PIECE:
            self._flush()

    def add_columns(self, columns: Mapping[str, Any]) -> None:
        """Many rows at once: a sequence, numpy or Arrow array a column."""
        self._flush()
        self._writer.write_table(pa.table(dict(columns), schema=self._schema))

    def __enter__(self) -> RowsWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._flush()
        self._writer.close()
        if error is None:
            appear(self._path)
        else:
            unfinished(self._path).unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._buffer:
            columns = {name: [getattr(row, name) for row in self._buffer] for name in self._names}
            self._buffer.clear()
            self._writer.write_table(pa.table(columns, schema=self._schema))


def write_rows(run: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    with RowsWriter(run, kind) as writer:
        for row in rows:
            writer.add(row)


def read_table(run: Path, kind: type[Row]) -> pa.Table | None:
    """None where the run has no such file."""
    path = run / kind.FILE
    if not path.exists():
        return None
    try:
        return _checked(path, pq.read_table(path, partitioning=None), schema_of(kind))
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise MalformedFile(path, f"cannot be read: {(str(problem) or type(problem).__name__).splitlines()[0]}") from None


def read_rows(run: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """For small files; empty where the run has none."""
    table = read_table(run, kind)
    rows = [] if table is None else [kind(**row) for row in table.to_pylist()]
    return rows


def _checked(path: Path, table: pa.Table, wanted: pa.Schema) -> pa.Table:
    raw = (table.schema.metadata or {}).get(METADATA_KEY)
    version = json.loads(raw).get("version") if raw else None
    if version != VERSION:
        raise MalformedFile(path, f"has version {version} of the history format; this is version {VERSION}")
    if (table.schema.names, table.schema.types) != (wanted.names, wanted.types):
        raise MalformedFile(path, f"has the columns {', '.join(table.schema.names)} instead of {', '.join(wanted.names)}, or other types")
    return table
