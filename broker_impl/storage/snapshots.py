"""Producer states beside the log: a file a segment, with the state as of the segment's first offset.

The state is what replaying every batch would give; a snapshot only shortens the replay. So a snapshot that is
missing or torn is no loss, and none is ever trusted beyond its own offset.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable
from contextlib import suppress

from broker_impl.machine.disk import Disk
from broker_impl.storage.segment import DELETED
from broker_impl.storage.segments import Segments
from broker_impl.transactions.producers import ProducerStates, SnapshotCorrupt

SUFFIX = ".snapshot"


class ProducerSnapshots:
    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, offsets: Iterable[int] = ()) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = sorted(offsets)

    def path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}{SUFFIX}"

    def save(self, offset: int, states: ProducerStates) -> None:
        """Not synced: a torn one is found out by its checksum."""
        self._disk.write_atomically(self.path(offset), states.encode(), sync=False)
        if offset not in self._offsets:
            insort(self._offsets, offset)

    def load_at_or_below(self, offset: int) -> tuple[int, ProducerStates] | None:
        """The newest whole one that is not past this offset."""
        for known in reversed(self._offsets[: bisect_right(self._offsets, offset)]):
            with suppress(SnapshotCorrupt, FileNotFoundError):
                return known, ProducerStates.decode(self._disk.read(self.path(known)))
        return None

    def remove_above(self, offset: int) -> None:
        self._remove(self._offsets[bisect_right(self._offsets, offset) :])

    def keep_only(self, offsets: set[int]) -> None:
        self._remove([known for known in self._offsets if known not in offsets])

    def mark_deleted(self, offset: int) -> list[str]:
        """Goes with its segment; returns what to remove later."""
        if offset not in self._offsets:
            return []
        self._offsets.remove(offset)
        path = self.path(offset)
        with suppress(FileNotFoundError):
            self._disk.rename(path, path + DELETED)
            return [path + DELETED]
        return []

    def replay(self, segments: Segments) -> ProducerStates:
        """The state at the log's end: from a snapshot not newer than the active segment, and the batches behind it."""
        return self._replay(segments, segments.active.base_offset)

    def rewrite_above(self, segments: Segments, offset: int) -> None:
        """Makes those of later segments anew: what is on the disk may stem from batches that were cut away. Retention
        relies on them, so they are not just dropped."""
        self.keep_only({segment.base_offset for segment in segments if segment.base_offset <= offset})
        if segments.active.base_offset > offset:
            self._replay(segments, offset)

    def _replay(self, segments: Segments, newest: int) -> ProducerStates:
        known = self.load_at_or_below(newest)
        offset, states = known if known is not None else (segments.first_base, ProducerStates())
        for segment in segments.from_offset(offset):
            if segment.base_offset > newest:
                with suppress(OSError):
                    self.save(segment.base_offset, states)
            for _position, header in segment.headers():
                if header.producer_id >= 0 and header.base_offset >= offset:
                    states.update(header, header.base_offset)
        return states

    def _remove(self, offsets: list[int]) -> None:
        for offset in offsets:
            self._offsets.remove(offset)
            with suppress(FileNotFoundError):
                self._disk.unlink(self.path(offset))
