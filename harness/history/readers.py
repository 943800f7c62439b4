"""Reading a history back: which files a run has, what each claims to be, and the rows of one bucket out of all of them.

Each worker numbers its names by itself, so the same topic has another number in another file. A `History` has one numbering for all
of its files, and every table it returns uses that one. What is wrong with a file is a sentence that names it, never a stack trace of the
Parquet library; a history of which a part is still in segments is refused, because rows that are not there look like losses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from harness.history.errors import HistoryError, MalformedFile
from harness.history.files import history_directory, segments_left
from harness.history.layout import read_footer
from harness.history.schema import DEFAULT_BUCKETS, DICTIONARIES, ROWS

Names = Mapping[str, Sequence[str]]

_KEPT_OPEN = 128
"""Files at a time."""


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """What the footer of a file says. `row_groups` has the bucket of each row group, `group_rows` how many rows it has."""

    path: Path
    rows: int
    buckets: int
    row_groups: tuple[int, ...]
    group_rows: tuple[int, ...]
    names: Names


@dataclass(frozen=True, slots=True)
class History:
    """Files of one run with one numbering of the names in `names[column]`. It may be sent to another process."""

    files: tuple[HistoryFile, ...]
    buckets: int
    names: Names

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def rows_of(self, bucket: int) -> int:
        return sum(rows for file in self.files for group, rows in zip(file.row_groups, file.group_rows, strict=True) if group == bucket)

    def filled_buckets(self) -> list[int]:
        """Buckets with rows, rising; -1 has the rows without a partition."""
        return sorted({bucket for file in self.files for bucket in file.row_groups})

    def read(self, bucket: int, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a bucket, file by file in the order of their names."""
        tables = list(self.read_each(bucket, columns))
        return pa.concat_tables(tables) if tables else _schema_of(columns).empty_table()

    def read_each(self, bucket: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The same, one table a file."""
        for file in self.files:
            if bucket in file.row_groups:
                yield self._renumber(file, read_bucket(file, bucket, columns))

    def read_all(self, columns: Sequence[str] | None = None) -> pa.Table:
        """For small histories and tests."""
        tables = [self.read(bucket, columns) for bucket in self.filled_buckets()]
        return pa.concat_tables(tables) if tables else _schema_of(columns).empty_table()

    def _renumber(self, file: HistoryFile, rows: pa.Table) -> pa.Table:
        for position, column in enumerate(rows.column_names):
            if column in DICTIONARIES:
                rows = rows.set_column(position, rows.schema.field(position), self._renumber_column(file, column, rows[column]))
        return rows

    def _renumber_column(self, file: HistoryFile, column: str, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
        own, common = file.names[column], self.names[column]
        if numbers.null_count == len(numbers):
            return numbers
        known = np.concatenate([_numbers_of(chunk) for chunk in numbers.chunks])
        if known.min() < 0 or known.max() >= len(own):
            raise MalformedFile(file.path, f"column {column} has a word whose name is not in the file")
        if list(own) == list(common[: len(own)]):
            return numbers
        where = {name: number for number, name in enumerate(common)}
        return pc.take(pa.array([where[name] for name in own], numbers.type), numbers)


def open_history(run: Path) -> History:
    """The history of a run; the first file that is not sound is an error."""
    if left := segments_left(run):
        raise HistoryError(f"{run}: workers {', '.join(map(str, left))} left segments that are not converted; the history is not complete")
    return join_files([inspect(path) for path in history_files(run)])


def history_files(run: Path) -> list[Path]:
    directory = history_directory(run)
    if not directory.is_dir():
        raise HistoryError(f"{run} is not the folder of a run: there is no folder `history` in it")
    return sorted(directory.glob("*.parquet"))


def inspect_all(paths: Iterable[Path]) -> tuple[list[HistoryFile], list[MalformedFile]]:
    """The sound ones, and what is wrong with the others."""
    sound: list[HistoryFile] = []
    refused: list[MalformedFile] = []
    for path in paths:
        try:
            sound.append(inspect(path))
        except MalformedFile as problem:
            refused.append(problem)
    return sound, refused


def inspect(path: Path) -> HistoryFile:
    """Read the footer and hold it against the format."""
    try:
        metadata = pq.read_metadata(path)
        footer = read_footer(metadata.metadata)
        schema = metadata.schema.to_arrow_schema()
    except HistoryError as problem:
        raise MalformedFile(path, str(problem)) from None
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise MalformedFile(path, f"cannot be read as Parquet: {_first_line(problem)}") from None
    if problem_of_schema := _problem_of(schema):
        raise MalformedFile(path, problem_of_schema)
    groups = tuple(footer["row_groups"])
    if len(groups) != metadata.num_row_groups or len(set(groups)) != len(groups):
        raise MalformedFile(path, f"has {metadata.num_row_groups} row groups, but its footer tells of {len(groups)} buckets")
    group_rows = tuple(metadata.row_group(group).num_rows for group in range(len(groups)))
    return HistoryFile(path, metadata.num_rows, footer["buckets"], groups, group_rows, footer["dictionaries"])


def join_files(files: Sequence[HistoryFile]) -> History:
    """One numbering for all; each name has the number of the place where it is first met."""
    counts = {file.buckets for file in files}
    if len(counts) > 1:
        raise HistoryError(f"files with {' and '.join(map(str, sorted(counts)))} buckets are no one history: {files[0].path.parent}")
    names = {column: list(dict.fromkeys(name for file in files for name in file.names[column])) for column in DICTIONARIES}
    for column, known in names.items():
        if len(known) > np.iinfo(ROWS.field(column).type.to_pandas_dtype()).max:
            raise HistoryError(f"{files[0].path.parent}: {len(known)} different names of a {column} are too many")
    return History(tuple(files), counts.pop() if counts else DEFAULT_BUCKETS, names)


def read_bucket(file: HistoryFile, bucket: int, columns: Sequence[str] | None = None) -> pa.Table:
    """One bucket of one file, with that file's own numbering of names."""
    if bucket not in file.row_groups:
        return _schema_of(columns).empty_table()
    try:
        rows = _opened(file.path).read_row_group(file.row_groups.index(bucket), columns=columns, use_threads=False)
        return _in_form(rows, _schema_of(columns))
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise MalformedFile(file.path, f"bucket {bucket} cannot be read: {_first_line(problem)}") from None


def may_hold(file: HistoryFile, bucket: int, column: str, within: tuple[int, int]) -> bool:
    """Whether a bucket of a file may have a number of that range, its end included, in the column; the footer tells without reading."""
    if bucket not in file.row_groups:
        return False
    try:
        parquet = _opened(file.path)
        group = parquet.metadata.row_group(file.row_groups.index(bucket))
        told = group.column(parquet.schema_arrow.get_field_index(column)).statistics
    except (pa.ArrowException, OSError) as problem:
        raise MalformedFile(file.path, f"bucket {bucket} cannot be read: {_first_line(problem)}") from None
    return told is None or not told.has_min_max or (told.min <= within[1] and told.max >= within[0])


def _in_form(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns as asked for and nothing of the file's own metadata. Casting what is right already costs as much as reading it."""
    if rows.schema.equals(schema):
        return rows.replace_schema_metadata(None)
    return rows.select(schema.names).cast(schema)


def _numbers_of(words: pa.Array) -> npt.NDArray[np.integer]:
    """Of a dictionary column, those that are not null."""
    numbers: npt.NDArray[np.integer] = (words.drop_null() if words.null_count else words).to_numpy()
    return numbers


def _opened(path: Path) -> pq.ParquetFile:
    """Opened and parsed once a process: for every bucket anew it would cost as much as reading the rows."""
    status = path.stat()
    return _opened_as(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=_KEPT_OPEN)
def _opened_as(path: Path, *_version: int) -> pq.ParquetFile:
    return pq.ParquetFile(path, pre_buffer=False)


def _schema_of(columns: Sequence[str] | None) -> pa.Schema:
    return ROWS if columns is None else pa.schema([ROWS.field(name) for name in columns])


def _problem_of(schema: pa.Schema) -> str | None:
    for field in ROWS:
        if field.name not in schema.names:
            return f"has no column {field.name}"
        if (found := schema.field(field.name).type) != field.type:
            return f"has a column {field.name} of type {found} instead of {field.type}"
    return None


def _first_line(problem: BaseException) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0]
