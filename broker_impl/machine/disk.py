"""Files. Everything the broker stores goes through a `Disk`, so a test can hand it one that forgets what was not synced.

Three things are easy to get wrong and are settled here. A write is whole or an error, never short. A `File` closes
its descriptor when the last reference to it goes, not when its segment is retired: a reader may be in the middle of
sending from it. And a page of a mapped sparse file for which the disk has no room kills the process with SIGBUS;
`Mapping.reserve` allocates it first, where a full disk is an ordinary error.
"""

import fcntl
import mmap
import os
import shutil
from array import array
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

Buffer = bytes | bytearray | memoryview

_GET_FLAGS, _SET_FLAGS, _TOP_OF_HIERARCHIES = 0x80086601, 0x40086602, 0x00020000
"""Of Linux (FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_TOPDIR_FL): what `chattr +T` does."""


class DirectoryLocked(Exception):
    """Another process holds the lock."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    is_dir: bool
    size: int


Entries = list[Entry]


class File(Protocol):
    @property
    def path(self) -> str: ...

    def pread(self, size: int, offset: int) -> bytes:
        """Shorter than asked only at the end of the file."""
        ...

    def pwrite(self, data: Buffer, offset: int) -> None:
        """All of it, or an OSError (part of it may have been written)."""
        ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Returns when data and size are on the medium."""
        ...

    def size(self) -> int: ...

    def fileno(self) -> int | None:
        """None where there is no descriptor to send from."""
        ...

    def close(self) -> None: ...


class Mapping(Protocol):
    @property
    def buffer(self) -> memoryview:
        """Writable, shared with whoever opens the file. Release every slice of it before closing."""
        ...

    def reserve(self, size: int) -> None:
        """Makes the first `size` bytes safe to write to, or raises OSError."""
        ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False) -> File: ...

    def map(self, path: str, size: int) -> Mapping:
        """Makes the file, or extends it with a hole, to this size."""
        ...

    def read(self, path: str) -> bytes: ...

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """The old content or the new one, whatever happens. Without `sync` this holds for a crash of the process
        only: a power loss may leave neither, and the caller syncs file and directory later."""
        ...

    def list(self, path: str) -> Entries: ...

    def exists(self, path: str) -> bool: ...

    def make_dirs(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def spread(self, path: str) -> None:
        """Folders made in this one from now on lie apart on the medium, where the file system knows how."""
        ...

    def sync_dir(self, path: str) -> None:
        """Names made, renamed or removed in this directory are then on the medium."""
        ...

    def lock(self, path: str) -> Lock:
        """Raises DirectoryLocked."""
        ...


class RealFile:
    """Invariant: the descriptor is open as long as somebody holds this object and nobody called `close`."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str, create: bool) -> None:
        self._descriptor = -1
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)

    def pread(self, size: int, offset: int) -> bytes:
        data = os.pread(self._descriptor, size, offset)
        while len(data) < size:
            more = os.pread(self._descriptor, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def pwrite(self, data: Buffer, offset: int) -> None:
        written = os.pwrite(self._descriptor, data, offset)
        if written != len(data):
            rest = memoryview(data)
            while written < len(rest):
                written += os.pwrite(self._descriptor, rest[written:], offset + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


class RealMapping:
    """Invariant: the first `_reserved` bytes have blocks on the disk.

    Read-ahead is off: touching the first byte of a hole would fill megabytes of page cache with zeros, at a cost of
    milliseconds where the device has a large read-ahead. The file is opened again for each page that is reserved:
    the map holds a descriptor of its own already, and brokers have many maps."""

    def __init__(self, path: str, size: int) -> None:
        file = RealFile(path, create=True)
        if file.size() < size:
            file.truncate(size)
        self._path = path
        self._reserved = 0
        self._map = mmap.mmap(file.fileno(), size)
        self._map.madvise(mmap.MADV_RANDOM)
        self.buffer = memoryview(self._map)

    def reserve(self, size: int) -> None:
        if size > self._reserved:
            end = min(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE, len(self.buffer))
            file = RealFile(self._path, create=False)
            os.posix_fallocate(file.fileno(), self._reserved, end - self._reserved)
            self._reserved = end

    def sync(self) -> None:
        self._map.flush()

    def close(self) -> None:
        self.buffer.release()
        self._map.close()


class RealLock:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class RealDisk:
    def open(self, path: str, *, create: bool = False) -> RealFile:
        return RealFile(path, create)

    def map(self, path: str, size: int) -> RealMapping:
        return RealMapping(path, size)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        temporary = path + ".tmp"
        try:
            self._write(temporary, data, sync)
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        if sync:
            self.sync_dir(os.path.dirname(path) or ".")

    def _write(self, path: str, data: bytes, sync: bool) -> None:
        file = RealFile(path, create=True)
        try:
            if file.size():
                file.truncate(0)
            if data:
                file.pwrite(data, 0)
            if sync:
                os.fsync(file.fileno())
        finally:
            file.close()

    def list(self, path: str) -> Entries:
        with os.scandir(path) as entries:
            return [self._entry(entry) for entry in entries]

    def _entry(self, entry: os.DirEntry[str]) -> Entry:
        is_dir = entry.is_dir()
        return Entry(entry.name, is_dir, 0 if is_dir else entry.stat().st_size)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def sync_dir(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def spread(self, path: str) -> None:
        """ext4 puts the files of neighbouring folders into one group of blocks. A broker makes and deletes many, and whoever makes a file
        looks at every one that was deleted in its group of late: after a large topic was deleted that took half a millisecond a file."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flags = array("l", [0])
            fcntl.ioctl(descriptor, _GET_FLAGS, flags)
            flags[0] |= _TOP_OF_HIERARCHIES
            fcntl.ioctl(descriptor, _SET_FLAGS, flags)
        except OSError:
            return  # another file system
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> RealLock:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise DirectoryLocked(f"{path} is held by another process") from None
        except OSError:
            os.close(descriptor)
            raise
        return RealLock(descriptor)
