"""A stretch of the log in one file, named by its first offset, with its two indexes.

A segment does not know what is committed, which epochs there were or who reads it. It writes bytes where it ends,
keeps its indexes in step, and finds batches. Nothing is opened before it is needed: a broker has many segments and
uses few of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from broker_impl.machine.disk import Buffer, Disk, File
from broker_impl.storage.batch import NO_TIMESTAMP, BatchHeader
from broker_impl.storage.index import OffsetIndex, TimeIndex
from broker_impl.storage.scan import headers

DELETED = ".deleted"
MAX_RELATIVE_OFFSET = 2**31 - 1
_UNKNOWN = -2


@dataclass(frozen=True, slots=True)
class IndexLimits:
    file_bytes: int
    interval_bytes: int


class Segment:
    """Invariant: the first `size` bytes of the file are whole batches, consecutive in offset; what may lie beyond is no part of it."""

    __slots__ = (
        "_bytes_since_index",
        "_file",
        "_first_timestamp",
        "_index_interval",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_prefix",
        "base_offset",
        "created_ms",
        "disk",
        "offset_index",
        "size",
        "time_index",
    )

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, limits: IndexLimits, created_ms: int, sizes: Mapping[str, int] | None = None
    ) -> None:
        """`sizes`: of the files that are there already, by name."""
        name, sizes = f"{base_offset:020d}", sizes or {}
        self.disk = disk
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.size = sizes.get(name + ".log", 0)
        self._prefix = prefix = f"{directory}/{name}"
        self.offset_index = OffsetIndex(disk, prefix + ".index", base_offset, sizes.get(name + ".index", 0), limits.file_bytes)
        self.time_index = TimeIndex(disk, prefix + ".timeindex", base_offset, sizes.get(name + ".timeindex", 0), limits.file_bytes)
        self._index_interval = limits.interval_bytes
        self._bytes_since_index = 0
        self._file: File | None = None
        self._first_timestamp = self._max_timestamp = _UNKNOWN if self.size else NO_TIMESTAMP
        self._max_timestamp_offset = base_offset

    @classmethod
    def create(cls, disk: Disk, directory: str, base_offset: int, limits: IndexLimits, created_ms: int) -> "Segment":
        """With empty files; none of them is left behind if one cannot be made."""
        segment = cls(disk, directory, base_offset, limits, created_ms)
        try:
            for path in segment.paths():
                file = disk.open(path, create=True)
                if file.size():
                    file.truncate(0)
        except OSError:
            segment.unlink()
            raise
        return segment

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self.disk.open(self._prefix + ".log")
        return self._file

    def paths(self) -> tuple[str, str, str]:
        return self._prefix + ".log", self.offset_index.path, self.time_index.path

    def write(self, data: Buffer) -> None:
        """Puts bytes behind the end; they belong to the segment once `note` was told of each batch in them.

        A failed write is cut off again, so that a full disk leaves no torn batch behind."""
        try:
            self.file.pwrite(data, self.size)
        except OSError:
            with suppress(OSError):
                self.file.truncate(self.size)
            raise

    def note(self, last_offset: int, max_timestamp: int, size: int) -> None:
        """Takes over the next batch of what was written. Hot path."""
        if self._max_timestamp == _UNKNOWN:
            self._load_times()
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if not self.size:
            self._first_timestamp = max_timestamp
        if self._bytes_since_index > self._index_interval and self.offset_index.reserve() and self.time_index.reserve():
            self.offset_index.append(last_offset, self.size)
            self.time_index.append_if_later(self._max_timestamp, self._max_timestamp_offset)
            self._bytes_since_index = 0
        self.size += size
        self._bytes_since_index += size

    def seal(self) -> None:
        """Nothing more will be written: the time index gets its last entry, all files are cut to what counts."""
        if self.file.size() != self.size:
            self.file.truncate(self.size)
        if self.size and self.time_index.reserve():
            self.time_index.append_if_later(self.max_timestamp, self.max_timestamp_offset)
        self.offset_index.trim()
        self.time_index.trim()

    def truncate_to(self, offset: int) -> int:
        """Cuts the batch that holds this offset and all behind it; returns the offset that comes next now."""
        found = self.find(offset)
        if found is None:
            return self.read_tail()[0]
        position, header = found
        self.offset_index.cut_from(header.base_offset)
        self.time_index.cut_from(header.base_offset)
        self.file.truncate(position)
        self.size = position
        self._bytes_since_index = 0
        self._max_timestamp = _UNKNOWN if position else NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        if not position:
            self._first_timestamp = NO_TIMESTAMP
        return header.base_offset

    def rebuild(self, batches: Iterable[BatchHeader]) -> None:
        """The file consists of these batches, found in it one after the other, and is cut behind the last of them;
        the indexes are made anew."""
        self.offset_index.clear()
        self.time_index.clear()
        self.size = self._bytes_since_index = 0
        self._first_timestamp = self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_offset = self.base_offset
        for header in batches:
            self.note(header.last_offset, header.max_timestamp, header.size)
        self.seal()

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        return headers(self.file, position, self.size)

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """The first batch that ends at or above the offset."""
        for position, header in self.headers(self.offset_index.position_for(offset)):
            if header.last_offset >= offset:
                return position, header
        return None

    def stop_before(self, limit_offset: int) -> int:
        """The end of the batches whose base is below the limit."""
        found = self.find(limit_offset)
        if found is None:
            return self.size
        position, header = found
        return position if header.base_offset >= limit_offset else position + header.size

    def read_tail(self) -> tuple[int, int]:
        """The offset after the last batch and the position behind it, found by walking from the last index entry.

        The position is `size`, unless the file does not make sense."""
        end, stop = self.base_offset, 0
        if self.size:
            for position, header in self._tail():
                end, stop = header.last_offset + 1, position + header.size
        return end, stop

    @property
    def first_timestamp(self) -> int:
        """Of the first batch, which decides how old the segment may grow."""
        if self._first_timestamp == _UNKNOWN:
            self._first_timestamp = next((header.max_timestamp for _position, header in self.headers()), NO_TIMESTAMP)
        return self._first_timestamp

    @property
    def max_timestamp(self) -> int:
        if self._max_timestamp == _UNKNOWN:
            self._load_times()
        return self._max_timestamp

    @property
    def max_timestamp_offset(self) -> int:
        """The last offset of the batch that has the largest timestamp."""
        if self._max_timestamp == _UNKNOWN:
            self._load_times()
        return self._max_timestamp_offset

    def rest(self) -> None:
        """Gives up what is open. A reader that holds the file keeps it."""
        self._file = None
        self.offset_index.rest()
        self.time_index.rest()

    def unlink(self) -> None:
        self.rest()
        for path in self.paths():
            with suppress(FileNotFoundError):
                self.disk.unlink(path)

    def mark_deleted(self) -> list[str]:
        """Out of the log at once, removed from the disk later; returns what to remove."""
        self.rest()
        renamed = []
        for path in self.paths():
            with suppress(FileNotFoundError):
                self.disk.rename(path, path + DELETED)
                renamed.append(path + DELETED)
        return renamed

    def _tail(self) -> Iterator[tuple[int, BatchHeader]]:
        last = self.offset_index.last_entry()
        return self.headers(last[1] if last is not None else 0)

    def _load_times(self) -> None:
        """What the time index has, and what came after the last entry of both."""
        last = self.time_index.last_entry()
        timestamp, offset = (last[0], self.base_offset + last[1]) if last is not None else (NO_TIMESTAMP, self.base_offset)
        for _position, header in self._tail() if last is not None else self.headers():
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self._max_timestamp, self._max_timestamp_offset = timestamp, offset
