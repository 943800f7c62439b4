"""A disk in memory that loses power: what was not synced is gone, or half there.

Only what a Raft log needs, and fast, because thousands of simulated nodes stand on it. A *fuse* blows in the middle of a write
sequence, so that every gap between two steps is met sooner or later.
"""

from random import Random
from typing import NoReturn

from broker_impl.machine.disk import Buffer, Entry


class PowerLost(Exception):
    """The fuse blew: nothing more happens on this disk until `lose_power` and a new start."""


class PowerLossDisk:
    def __init__(self) -> None:
        self.fuse: int | None = None
        """How many more changes this disk makes; None: no limit."""
        self.sync_works = True
        self._files: dict[str, _Content] = {}

    def lose_power(self, random: Random) -> int:
        """Forget what was not synced but for a random torn part; the number of bytes that differ from what was written."""
        self.fuse = None
        return sum(content.lose_power(random) for content in self._files.values())

    def burn(self) -> None:
        if self.fuse is not None:
            if self.fuse == 0:
                raise PowerLost
            self.fuse -= 1

    def open(self, path: str, *, create: bool = False) -> "_File":
        if path not in self._files:
            if not create:
                raise FileNotFoundError(path)
            self._files[path] = _Content()
        return _File(self, path, self._files[path])

    def read(self, path: str) -> bytes:
        return bytes(self._files[path].cached)

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        assert sync
        self.burn()
        self._files[path] = _Content(data)

    def exists(self, path: str) -> bool:
        return path in self._files or path == "/"

    def make_dirs(self, path: str) -> None:
        pass

    def sync_dir(self, path: str) -> None:
        pass

    def list(self, path: str) -> list[Entry]:
        return [Entry(name.rpartition("/")[2], False, len(content.cached)) for name, content in self._files.items()]

    def _missing(self) -> NoReturn:
        raise NotImplementedError("a Raft log does not need this")

    def map(self, path: str, size: int) -> NoReturn:
        self._missing()

    def spread(self, path: str) -> NoReturn:
        self._missing()

    def rename(self, old: str, new: str) -> None:
        self._missing()

    def unlink(self, path: str) -> None:
        self._missing()

    def remove_tree(self, path: str) -> None:
        self._missing()

    def lock(self, path: str) -> NoReturn:
        self._missing()


class _Content:
    """Invariant: `pending` turns `synced` into `cached`. A pending change is (offset, data), or (size, None) for a cut."""

    def __init__(self, data: bytes = b"") -> None:
        self.cached = bytearray(data)
        self.synced = bytes(data)
        self.pending: list[tuple[int, bytes | None]] = []

    def change(self, offset: int, data: bytes | None) -> None:
        _apply(self.cached, offset, data)
        self.pending.append((offset, data))

    def sync(self) -> None:
        self.synced = bytes(self.cached)
        self.pending.clear()

    def lose_power(self, random: Random) -> int:
        written = len(self.cached)
        self.cached = bytearray(self.synced)
        if self.pending:
            whole = random.randrange(len(self.pending) + 1)
            for offset, data in self.pending[:whole]:
                _apply(self.cached, offset, data)
            if whole < len(self.pending):
                offset, data = self.pending[whole]
                if data is not None:
                    _apply(self.cached, offset, _torn(data, random))
        self.sync()
        return abs(written - len(self.cached))


def _torn(data: bytes, random: Random) -> bytes:
    """A part from the beginning, sometimes with a hole that never reached the medium."""
    torn = bytearray(data[: random.randrange(len(data) + 1)])
    if torn and random.random() < 0.5:
        start = random.randrange(len(torn))
        end = random.randrange(start, len(torn)) + 1
        torn[start:end] = bytes(end - start)
    return bytes(torn)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
    else:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


class _File:
    def __init__(self, disk: PowerLossDisk, path: str, content: _Content) -> None:
        self.path = path
        self._disk = disk
        self._content = content

    def pread(self, size: int, offset: int) -> bytes:
        return bytes(self._content.cached[offset : offset + size])

    def pwrite(self, data: Buffer, offset: int) -> None:
        self._disk.burn()
        self._content.change(offset, bytes(data))

    def truncate(self, size: int) -> None:
        self._disk.burn()
        self._content.change(size, None)

    def sync(self) -> None:
        self._disk.burn()
        if self._disk.sync_works:
            self._content.sync()

    def size(self) -> int:
        return len(self._content.cached)

    def fileno(self) -> None:
        return None

    def close(self) -> None:
        pass
