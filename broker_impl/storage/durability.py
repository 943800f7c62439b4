"""How far a log is on the medium, kept right while a thread syncs and the loop goes on appending, rolling and cutting.

No locks: the order of reads and writes does it. The thread notes the generation and the end of the log *before* it
collects the files to sync, so everything below that end is in them. What it claims afterwards counts only if the
generation is still the same; a cut of the log raises the generation twice, before and after, and leaves behind the
floor that holds whatever a late thread claims.

After a failed sync nothing is tried again: the kernel may have dropped the dirty pages and would report success.
"""

from contextlib import suppress
from typing import NamedTuple

from broker_impl.machine.disk import Disk, File
from broker_impl.storage.epochs import LeaderEpochs

METADATA = "partition.metadata"


class SyncFailed(OSError):
    """Not to be tried again."""


class Unsynced(NamedTuple):
    """A sealed segment whose files are not on the medium yet. The open file, because only the descriptor that was
    written through is sure to report what went wrong since; the others by path."""

    file: File
    paths: tuple[str, ...]


class Durability:
    """Invariant: what lies below `flushed` is on the medium, with the names, indexes and epochs that belong to it."""

    __slots__ = ("_claim", "_disk", "_floor", "_generation", "_names_changed", "_parent_changed", "_sealed", "checkpointed", "directory")

    def __init__(self, disk: Disk, directory: str, flushed: int) -> None:
        self.directory = directory
        self.checkpointed = flushed
        self._disk = disk
        self._generation = 0
        self._claim = (0, flushed)
        self._floor = flushed
        self._sealed: list[Unsynced] = []
        self._names_changed = self._parent_changed = False

    @property
    def flushed(self) -> int:
        generation, offset = self._claim
        return offset if generation == self._generation else self._floor

    @property
    def pending(self) -> bool:
        """Whether files other than the active segment's wait for a sync."""
        return bool(self._sealed) or self._names_changed

    def created(self) -> None:
        """The directory itself is new, or may be as far as the medium is concerned."""
        self._names_changed = self._parent_changed = True

    def names_changed(self) -> None:
        """A file was made, replaced or removed."""
        self._names_changed = True

    def sealed(self, unsynced: Unsynced) -> None:
        self._sealed.append(unsynced)
        self._names_changed = True

    def cut(self, offset: int) -> None:
        """To be called before the log is cut to this offset, and after it with the end it then has."""
        self._floor = min(self.flushed, offset)
        self._generation += 1

    def restarted(self, offset: int) -> None:
        """The log is empty and begins here: there is nothing that could be lost."""
        self._sealed.clear()
        self._floor = offset
        self._generation += 1

    def generation(self) -> int:
        return self._generation

    def sync(self, active: File, epochs: LeaderEpochs) -> None:
        """Everything written before this call; raises SyncFailed."""
        sealed = list(self._sealed)
        try:
            for entry in sealed:
                entry.file.sync()
                for path in entry.paths:
                    self._sync_path(path)
            self._sync_names(epochs)
            active.sync()
        except FileNotFoundError:
            raise
        except OSError as problem:
            raise SyncFailed(problem.errno, f"flush failed: {problem.strerror}") from problem
        for entry in sealed:
            with suppress(ValueError):
                self._sealed.remove(entry)

    def claim(self, generation: int, offset: int) -> None:
        self._claim = (generation, offset)

    def _sync_names(self, epochs: LeaderEpochs) -> None:
        if epochs.unsynced:
            epochs.unsynced = False
            self._names_changed = True
            self._sync_path(epochs.path)
        if self._names_changed:
            self._names_changed = False
            self._disk.sync_dir(self.directory)
        if self._parent_changed:
            self._parent_changed = False
            self._sync_path(f"{self.directory}/{METADATA}")
            self._disk.sync_dir(self.directory.rpartition("/")[0] or "/")

    def _sync_path(self, path: str) -> None:
        """A file that was retired or replaced meanwhile need not be synced."""
        with suppress(FileNotFoundError):
            self._disk.open(path).sync()
