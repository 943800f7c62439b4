"""The disk behind one Raft node: `quorum-state`, `snapshot` and `entries.log` in one directory.

Entries are appended to one file and synced once per `Ready`. Three traps decide the order of writes. The term and vote go first: a log
must never hold entries of a term the node could still vote in. A cut is synced before anything is written behind it: otherwise old
entries could come back after a power loss, behind new ones they never followed. The snapshot goes before the entries it replaces.

A torn tail was never promised to anybody and is cut off. A damaged entry with others behind it that were written later was promised:
each entry carries the first index of the write it came in, so the two are told apart, and a voter that lost promised entries refuses
to start.

A full disk is the one failure after which the same unit may be tried again: what could not be written was promised to nobody.
"""

import errno
import struct
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from posixpath import dirname

import msgspec
from crc32c import crc32c

from broker_impl.machine.disk import Disk, File
from broker_impl.quorum.raft_messages import Entry, HardState, Ready, Snapshot

_FRAME = struct.Struct(">II")
"""Length of what follows, and its CRC-32C."""
_ENTRY = struct.Struct(">QQQ")
"""Index, term, and the first index of the write; then the payload."""


class RaftLogDamaged(Exception):
    """What this node promised to keep is not readable."""

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(
            f"{path}: {fact}. A voter must not go on without what it promised to keep: restore the disk, "
            f"or take this node out of controller.quorum.voters and give it an empty directory"
        )


class DiskFull(OSError):
    """There is no room; nothing else is wrong, and the log is whole."""


class RaftLog:
    """Invariant: `_positions` has the file position of each entry from `_first` on, and the file ends at `_end`."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._state_path = f"{directory}/quorum-state"
        self._snapshot_path = f"{directory}/snapshot"
        self._entries_path = f"{directory}/entries.log"
        self._file: File | None = None
        self._positions: list[int] = []
        self._first = 1
        self._end = 0
        self._failed = False
        self.torn_bytes = 0
        """How much of a torn tail `load` cut off."""

    def load(self) -> tuple[HardState, Snapshot | None, list[Entry]]:
        """What is read here will be vouched for, so it is synced first: a killed process may have left it in the page cache only."""
        self._make_directory()
        hard_state = self._load_state()
        snapshot = self._load_snapshot()
        entries = self._load_entries(snapshot)
        last_term = entries[-1].term if entries else snapshot.term if snapshot else 0
        if hard_state.term < last_term:
            raise RaftLogDamaged(self._state_path, f"it knows term {hard_state.term}, but the log holds entries of term {last_term}")
        return hard_state, snapshot, entries

    def persist(self, ready: Ready) -> None:
        """Blocks until what `ready` says is on disk. After a failure nobody knows what the disk holds: it is not tried again. After
        `DiskFull` the same `ready` may be."""
        if self._failed:
            raise OSError(f"{self._directory}: an earlier write failed, the node must be restarted")
        self._failed = True
        try:
            self._write(ready)
        except DiskFull:
            self._failed = False
            raise
        self._failed = False

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _write(self, ready: Ready) -> None:
        """Each step may be repeated when it was done already."""
        if ready.hard_state:
            self._replace(self._state_path, _encode_state(ready.hard_state))
        if ready.snapshot:
            self._replace(self._snapshot_path, _encode_snapshot(ready.snapshot))
            self._drop_up_to(ready.snapshot.index, everything=True)
        if ready.truncate_from is not None:
            self._truncate(ready.truncate_from)
        if ready.append and ready.append[-1].index >= self._first + len(self._positions):
            self._append(ready.append)
        if ready.compacted:
            self._replace(self._snapshot_path, _encode_snapshot(ready.compacted))
            self._drop_up_to(ready.compacted.index, everything=False)

    def _append(self, entries: list[Entry]) -> None:
        assert self._file and entries[0].index == self._first + len(self._positions)
        positions, write = [], bytearray()
        for entry in entries:
            positions.append(self._end + len(write))
            write += _encode_entry(entry, entries[0].index)
        try:
            with _full_disks_told_apart():
                self._file.pwrite(write, self._end)
        except DiskFull:
            self._file.truncate(self._end)
            raise
        self._file.sync()
        self._positions += positions
        self._end += len(write)

    def _replace(self, path: str, data: bytes) -> None:
        with _full_disks_told_apart():
            self._disk.write_atomically(path, data)

    def _truncate(self, index: int) -> None:
        assert self._file and index >= self._first
        kept = index - self._first
        if kept < len(self._positions):
            self._end = self._positions[kept]
            del self._positions[kept:]
            self._file.truncate(self._end)
            self._file.sync()

    def _drop_up_to(self, index: int, *, everything: bool) -> None:
        """Write the file anew without the entries a snapshot stands for, or without any."""
        assert self._file
        dropped = len(self._positions) if everything else min(len(self._positions), max(0, index + 1 - self._first))
        start = self._positions[dropped] if dropped < len(self._positions) else self._end
        rest = self._file.pread(self._end - start, start)
        self._replace(self._entries_path, rest)
        self.close()
        self._file = self._disk.open(self._entries_path)
        self._positions = [position - start for position in self._positions[dropped:]]
        self._first = index + 1
        self._end = len(rest)

    def _make_directory(self) -> None:
        """And sync the name of each directory made here in the one above it."""
        above = [dirname(self._directory) or "."]
        while not self._disk.exists(above[-1]):
            above.append(dirname(above[-1]) or ".")
        self._disk.make_dirs(self._directory)
        for directory in above:
            self._disk.sync_dir(directory)

    def _load_state(self) -> HardState:
        if not self._disk.exists(self._state_path):
            return HardState(0, None)
        try:
            state = msgspec.json.decode(self._disk.read(self._state_path), type=_State)
        except msgspec.DecodeError as error:
            raise RaftLogDamaged(self._state_path, str(error)) from error
        if state.crc != _state_crc(state.term, state.voted_for):
            raise RaftLogDamaged(self._state_path, "its checksum is wrong")
        return HardState(state.term, state.voted_for)

    def _load_snapshot(self) -> Snapshot | None:
        if not self._disk.exists(self._snapshot_path):
            return None
        data = self._disk.read(self._snapshot_path)
        record = _record_at(data, 0)
        if record is None or record.end != len(data):
            raise RaftLogDamaged(self._snapshot_path, "its checksum is wrong")
        return Snapshot(record.entry.index, record.entry.term, record.entry.payload)

    def _load_entries(self, snapshot: Snapshot | None) -> list[Entry]:
        self._file = self._disk.open(self._entries_path, create=True)
        self._file.sync()
        self._disk.sync_dir(self._directory)
        data = self._file.pread(self._file.size(), 0)
        records = list(_records(data))
        self._end = records[-1].end if records else 0
        base = snapshot.index if snapshot else 0
        self._cut_torn_tail(data, missing=(records[-1].entry.index if records else base) + 1)
        self._positions = [record.start for record in records]
        self._first = records[0].entry.index if records else base + 1
        return self._follow_on(snapshot, [record.entry for record in records])

    def _cut_torn_tail(self, data: bytes, missing: int) -> None:
        assert self._file
        self.torn_bytes = len(data) - self._end
        if not self.torn_bytes:
            return
        for start in range(self._end, len(data)):
            later = _record_at(data, start)
            if later and later.write_first > missing:
                raise RaftLogDamaged(self._entries_path, f"entry {missing} is damaged, and entry {later.entry.index} was written after it")
        self._file.truncate(self._end)
        self._file.sync()

    def _follow_on(self, snapshot: Snapshot | None, entries: list[Entry]) -> list[Entry]:
        """Only what follows the snapshot: the rest is what an interrupted clean-up left behind."""
        base = snapshot.index if snapshot else 0
        if snapshot and self._first <= base:
            at = bisect_left(entries, base, key=lambda entry: entry.index)
            belongs = at < len(entries) and entries[at].term == snapshot.term
            entries = entries[at + 1 :] if belongs else []
            self._drop_up_to(base, everything=not belongs)
        elif self._first != base + 1:
            raise RaftLogDamaged(self._entries_path, f"it begins with entry {self._first}, but the snapshot ends with {base}")
        return entries


@contextmanager
def _full_disks_told_apart() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(problem.errno, problem.strerror) from problem
        raise


class _State(msgspec.Struct):
    term: int
    voted_for: int | None
    crc: int


@dataclass(frozen=True, slots=True)
class _Record:
    start: int
    end: int
    entry: Entry
    write_first: int


def _encode_state(state: HardState) -> bytes:
    return msgspec.json.encode(_State(state.term, state.voted_for, _state_crc(state.term, state.voted_for)))


def _state_crc(term: int, voted_for: int | None) -> int:
    return int(crc32c(f"{term} {voted_for}".encode()))


def _encode_snapshot(snapshot: Snapshot) -> bytes:
    return _encode_entry(Entry(snapshot.index, snapshot.term, snapshot.data), snapshot.index)


def _encode_entry(entry: Entry, write_first: int) -> bytes:
    body = _ENTRY.pack(entry.index, entry.term, write_first) + entry.payload
    return _FRAME.pack(len(body), crc32c(body)) + body


def _records(data: bytes) -> Iterator[_Record]:
    """Whole entries from the beginning, up to the first place that does not continue them."""
    position = 0
    previous: Entry | None = None
    while record := _record_at(data, position):
        if previous and (record.entry.index != previous.index + 1 or record.entry.term < previous.term):
            return
        yield record
        previous, position = record.entry, record.end


def _record_at(data: bytes, start: int) -> _Record | None:
    body = start + _FRAME.size
    if body + _ENTRY.size > len(data):
        return None
    length, crc = _FRAME.unpack_from(data, start)
    end = body + length
    if length < _ENTRY.size or end > len(data) or crc32c(memoryview(data)[body:end]) != crc:
        return None
    index, term, write_first = _ENTRY.unpack_from(data, body)
    return _Record(start, end, Entry(index, term, data[body + _ENTRY.size : end]), write_first)
