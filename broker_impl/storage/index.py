"""The two sparse indexes of a segment: offset -> position, and timestamp -> offset.

Entries are fixed-size and sorted, the file is mapped, a look-up is a binary search for the last entry not above the
target; from there the log itself is walked. The file of the segment being written is a hole of its largest size,
which is cut to the entries when the segment is sealed or closed. So the number of entries of a file that was not
closed properly cannot be told from its size, and recovery builds it anew.

An index is only an accelerator: losing an entry (a full disk) costs a longer walk and nothing else.
"""

import struct
from bisect import bisect_right

from broker_impl.machine.disk import Disk, Mapping
from broker_impl.storage.batch import NO_TIMESTAMP

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


class SparseIndex:
    """Invariant: entries 0..count-1 of the file are strictly increasing; nothing beyond them is ever read.

    Mapped only while used, so a thousand idle logs cost nothing."""

    __slots__ = ("_capacity", "_entry", "_last", "_mapping", "_untrimmed", "_writable", "count", "disk", "path")

    def __init__(self, disk: Disk, path: str, entry: struct.Struct, count: int, max_bytes: int) -> None:
        self.disk = disk
        self.path = path
        self.count = count
        self._last: tuple[int, int] | None = None
        self._entry = entry
        self._capacity = max(max_bytes // entry.size, 2)
        self._mapping: Mapping | None = None
        self._writable = False
        self._untrimmed = False

    @property
    def is_full(self) -> bool:
        """Leaves room for the one entry that sealing a time index adds."""
        return self.count >= self._capacity - 1

    def reserve(self) -> bool:
        """Whether there is room for one more entry, in the file and on the disk."""
        if self.count >= self._capacity:
            return False
        mapping = self._open_writable()
        try:
            mapping.reserve((self.count + 1) * self._entry.size)
        except OSError:
            return False
        return True

    def entry_at(self, slot: int) -> tuple[int, int]:
        first, second = self._entry.unpack_from(self._open().buffer, slot * self._entry.size)
        return first, second

    def last_entry(self) -> tuple[int, int] | None:
        """Read without mapping the file if need be: loading many logs asks for nothing else."""
        if self._last is None and self.count:
            if self._mapping is not None:
                self._last = self.entry_at(self.count - 1)
            else:
                size = self._entry.size
                first, second = self._entry.unpack(self.disk.open(self.path).pread(size, (self.count - 1) * size))
                self._last = (first, second)
        return self._last

    def floor(self, target: int) -> tuple[int, int] | None:
        """The last entry whose first field is not above the target."""
        if not self.count:
            return None
        buffer, unpack, size = self._open().buffer, self._entry.unpack_from, self._entry.size
        slot = bisect_right(range(self.count), target, key=lambda index: unpack(buffer, index * size)[0]) - 1
        return self.entry_at(slot) if slot >= 0 else None

    def cut(self, count: int) -> None:
        if count < self.count:
            self.count = count
            self._last = None
            self._untrimmed = True

    def trim(self) -> None:
        """The file ends with the last entry; unmapped until it is used again."""
        self.rest()
        if self._untrimmed:
            self.disk.open(self.path, create=True).truncate(self.count * self._entry.size)
            self._untrimmed = False

    def clear(self) -> None:
        """An empty file, whatever was there."""
        self.rest()
        self.disk.open(self.path, create=True).truncate(0)
        self.count = 0
        self._last = None
        self._untrimmed = False

    def rest(self) -> None:
        """Gives up the mapping."""
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None
            self._writable = False

    def _push(self, first: int, second: int) -> None:
        self._entry.pack_into(self._open_writable().buffer, self.count * self._entry.size, first, second)
        self.count += 1
        self._last = (first, second)

    def _open(self) -> Mapping:
        if self._mapping is None:
            self._mapping = self.disk.map(self.path, self.count * self._entry.size)
        return self._mapping

    def _open_writable(self) -> Mapping:
        if self._mapping is None or not self._writable:
            self.rest()
            self._mapping = self.disk.map(self.path, self._capacity * self._entry.size)
            self._writable = self._untrimmed = True
        return self._mapping


class OffsetIndex(SparseIndex):
    """(last offset of a batch - base offset, position of that batch)."""

    __slots__ = ("base_offset",)
    ENTRY_SIZE = _OFFSET_ENTRY.size

    def __init__(self, disk: Disk, path: str, base_offset: int, size: int, max_bytes: int) -> None:
        super().__init__(disk, path, _OFFSET_ENTRY, size // _OFFSET_ENTRY.size, max_bytes)
        self.base_offset = base_offset

    def append(self, last_offset: int, position: int) -> None:
        self._push(last_offset - self.base_offset, position)

    def position_for(self, offset: int) -> int:
        """A batch starts there, and no batch before it ends at or above the offset but perhaps itself."""
        entry = self.floor(offset - self.base_offset)
        return entry[1] if entry is not None else 0

    def batch_start_at_or_below(self, position: int) -> int:
        """The highest indexed position not above this one."""
        if not self.count:
            return 0
        slot = bisect_right(range(self.count), position, key=lambda index: self.entry_at(index)[1]) - 1
        return self.entry_at(slot)[1] if slot >= 0 else 0

    def cut_from(self, offset: int) -> None:
        """Drops what points at or past this offset."""
        relative = offset - self.base_offset
        if self.count:
            self.cut(bisect_right(range(self.count), relative - 1, key=lambda index: self.entry_at(index)[0]))


class TimeIndex(SparseIndex):
    """(largest timestamp so far, last offset of the batch that brought it - base offset)."""

    __slots__ = ("base_offset",)
    ENTRY_SIZE = _TIME_ENTRY.size

    def __init__(self, disk: Disk, path: str, base_offset: int, size: int, max_bytes: int) -> None:
        super().__init__(disk, path, _TIME_ENTRY, size // _TIME_ENTRY.size, max_bytes)
        self.base_offset = base_offset

    def append_if_later(self, timestamp: int, offset: int) -> None:
        last = self.last_entry()
        if timestamp > (last[0] if last is not None else NO_TIMESTAMP):
            self._push(timestamp, offset - self.base_offset)

    def offset_below(self, timestamp: int) -> int:
        """No batch that ends below this offset has a timestamp at or above the given one."""
        entry = self.floor(timestamp - 1)
        return self.base_offset + entry[1] if entry is not None else self.base_offset

    def cut_from(self, offset: int) -> None:
        relative = offset - self.base_offset
        if self.count:
            self.cut(bisect_right(range(self.count), relative - 1, key=lambda index: self.entry_at(index)[1]))
