"""A disk in memory that loses power on request and then knows only what was synced, and pieces of the rest.

Writes that were not synced survive in part: some of them, the last one torn, in order or out of it (then a file has
holes of zeros). Names that were not synced (new files, renames, removals) survive up to a random point, directory by
directory. `sync_works = False` makes the syncing of files a lie, as a broken controller or a forgotten call would.
`room` limits how many bytes may still be written; `sync_error` makes every sync fail.
"""

import errno
import posixpath
import random
from dataclasses import dataclass, field

from broker_impl.machine.disk import Buffer, DirectoryLocked, Entry

_SECTOR = 64


@dataclass
class Inode:
    content: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(offset, data) of writes, (size, None) of truncations, since the last sync."""
    mapped: bool = False

    def settle(self) -> None:
        self.durable = bytes(self.content)
        self.pending.clear()

    def after_power_loss(self, rng: random.Random) -> "Inode":
        content = bytearray(self.durable)
        if self.mapped:
            content = self._mixed(rng)
        elif self.pending:
            in_order = rng.random() < 0.7
            kept = self.pending[: rng.randint(0, len(self.pending))] if in_order else [op for op in self.pending if rng.random() < 0.5]
            for offset, data in kept[:-1]:
                _apply(content, offset, data)
            for offset, data in kept[-1:]:
                _apply(content, offset, data[: rng.randint(0, len(data))] if data is not None and rng.random() < 0.5 else data)
        return Inode(content, bytes(content))

    def _mixed(self, rng: random.Random) -> bytearray:
        size = rng.choice((len(self.durable), len(self.content)))
        sources = (self.durable.ljust(size, b"\0"), bytes(self.content).ljust(size, b"\0"))
        return bytearray(b"".join(rng.choice(sources)[at : at + _SECTOR] for at in range(0, size, _SECTOR))[:size])


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
    else:
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data


class SimulatedFile:
    def __init__(self, disk: "ForgetfulDisk", path: str, inode: Inode) -> None:
        self.path = path
        self._disk = disk
        self._inode = inode

    def pread(self, size: int, offset: int) -> bytes:
        return bytes(self._inode.content[offset : offset + size])

    def pwrite(self, data: Buffer, offset: int) -> None:
        whole = bytes(data)
        granted = whole if self._disk.room is None else whole[: self._disk.room]
        if self._disk.room is not None:
            self._disk.room -= len(granted)
        _apply(self._inode.content, offset, granted)
        self._inode.pending.append((offset, granted))
        if len(granted) < len(whole):
            raise OSError(errno.ENOSPC, "No space left on device")

    def truncate(self, size: int) -> None:
        _apply(self._inode.content, size, None)
        self._inode.pending.append((size, None))

    def sync(self) -> None:
        self._disk.check_sync()
        if self._disk.sync_works:
            self._inode.settle()

    def size(self) -> int:
        return len(self._inode.content)

    def fileno(self) -> None:
        return None

    def close(self) -> None:
        return None


class SimulatedMapping:
    def __init__(self, disk: "ForgetfulDisk", inode: Inode, size: int) -> None:
        self._disk = disk
        self._inode = inode
        if len(inode.content) < size:
            _apply(inode.content, size, None)
        inode.mapped = True
        self.buffer = memoryview(inode.content)[:size]

    def reserve(self, size: int) -> None:
        if self._disk.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    def sync(self) -> None:
        if self._disk.sync_works:
            self._inode.settle()

    def close(self) -> None:
        self.buffer.release()


class SimulatedLock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class ForgetfulDisk:
    """Invariant: `_names` is `_durable_names` with all pending changes of names applied."""

    def __init__(self, *, sync_works: bool = True) -> None:
        self.sync_works = sync_works
        self.room: int | None = None
        self.sync_error: OSError | None = None
        self.syncs = 0
        self._names: dict[str, Inode | None] = {"/": None}
        self._durable_names: dict[str, Inode | None] = {"/": None}
        self._pending: dict[str, list[dict[str, Inode | None]]] = {}
        """Per directory, the entries it had after each change since it was synced."""
        self._locks: set[str] = set()

    def crash(self, rng: random.Random) -> None:
        """Power loss. Files and logs that were open must not be used any more."""
        for directory, states in self._pending.items():
            kept = rng.randint(0, len(states))
            if kept:
                self._commit(directory, states[kept - 1])
        self._pending.clear()
        self._locks.clear()
        self.room = self.sync_error = None
        reachable = {path: inode for path, inode in self._durable_names.items() if self._has_parents(path)}
        survivors = {id(inode): inode.after_power_loss(rng) for inode in reachable.values() if inode is not None}
        self._durable_names = {path: inode and survivors[id(inode)] for path, inode in reachable.items()}
        self._names = dict(self._durable_names)

    def kill(self) -> None:
        """The process dies, the kernel lives: nothing is forgotten but locks and mappings."""
        self._locks.clear()
        for inode in self._names.values():
            if inode is not None:
                inode.content = bytearray(inode.content)

    def inode(self, path: str) -> Inode:
        found = self._names.get(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return found

    def check_sync(self) -> None:
        self.syncs += 1
        if self.sync_error is not None:
            raise self.sync_error

    def open(self, path: str, *, create: bool = False) -> SimulatedFile:
        if path not in self._names and create:
            if self.room == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            self._change(path, Inode())
        return SimulatedFile(self, path, self.inode(path))

    def map(self, path: str, size: int) -> SimulatedMapping:
        self.open(path, create=True)
        return SimulatedMapping(self, self.inode(path), size)

    def read(self, path: str) -> bytes:
        return bytes(self.inode(path).content)

    def write_atomically(self, path: str, data: bytes, *, sync: bool = True) -> None:
        file = self.open(path + ".tmp", create=True)
        file.truncate(0)
        try:
            file.pwrite(data, 0)
        except OSError:
            self.unlink(path + ".tmp")
            raise
        if sync:
            self.check_sync()
            self.inode(path + ".tmp").settle()
        self.rename(path + ".tmp", path)
        if sync:
            self.sync_dir(posixpath.dirname(path))

    def list(self, path: str) -> "list[Entry]":
        self._require_dir(path)
        found = sorted(self._entries(path).items(), key=lambda pair: pair[0])
        return [Entry(posixpath.basename(name), inode is None, 0 if inode is None else len(inode.content)) for name, inode in found]

    def exists(self, path: str) -> bool:
        return path in self._names

    def make_dirs(self, path: str) -> None:
        if path not in self._names:
            self.make_dirs(posixpath.dirname(path))
            self._change(path, None)

    def rename(self, old: str, new: str) -> None:
        if old not in self._names:
            raise FileNotFoundError(errno.ENOENT, "No such file", old)
        moved = {new + path[len(old) :]: path for path in self._names if path == old or path.startswith(old + "/")}
        contents = {target: self._names.pop(source) for target, source in moved.items()}
        self._names.update(contents)
        if len(moved) > 1 or self._names[new] is None:
            self._move_tree(old, new)
        self._note(posixpath.dirname(new))

    def unlink(self, path: str) -> None:
        self.inode(path)
        del self._names[path]
        self._note(posixpath.dirname(path))

    def remove_tree(self, path: str) -> None:
        for name in [name for name in self._names if name == path or name.startswith(path + "/")]:
            del self._names[name]
        self._note(posixpath.dirname(path))

    def spread(self, path: str) -> None:
        self._require_dir(path)

    def sync_dir(self, path: str) -> None:
        self._require_dir(path)
        self.check_sync()
        if self._pending.pop(path, None):
            self._commit(path, self._entries(path))

    def lock(self, path: str) -> SimulatedLock:
        if path in self._locks:
            raise DirectoryLocked(path)
        self.open(path, create=True)
        return SimulatedLock(self._locks, path)

    def _change(self, path: str, inode: Inode | None) -> None:
        self._require_dir(posixpath.dirname(path))
        self._names[path] = inode
        self._note(posixpath.dirname(path))

    def _require_dir(self, path: str) -> None:
        if self._names.get(path, self) is not None:
            raise FileNotFoundError(errno.ENOENT, "No such directory", path)

    def _entries(self, directory: str) -> dict[str, Inode | None]:
        return {path: inode for path, inode in self._names.items() if posixpath.dirname(path) == directory and path != "/"}

    def _note(self, directory: str) -> None:
        self._pending.setdefault(directory, []).append(self._entries(directory))

    def _commit(self, directory: str, entries: dict[str, Inode | None]) -> None:
        for path in [path for path in self._durable_names if posixpath.dirname(path) == directory and path != "/"]:
            del self._durable_names[path]
        self._durable_names.update(entries)

    def _move_tree(self, old: str, new: str) -> None:
        """What a directory holds goes with it, synced or not."""
        for names in (self._durable_names, self._pending):
            for path in [path for path in names if path.startswith(old + "/") or (names is self._pending and path == old)]:
                names[new + path[len(old) :]] = names.pop(path)  # type: ignore[assignment]

    def _has_parents(self, path: str) -> bool:
        return path == "/" or (posixpath.dirname(path) in self._durable_names and self._has_parents(posixpath.dirname(path)))
