"""The files of one log, changed together: segments, epoch checkpoint, producer snapshots, and what of them is synced.

Rolling, cutting and retiring touch several files each. The order within each is chosen so that a crash between any
two steps leaves a folder that loading makes sense of: a new segment is there before the old one is sealed, names are
synced when segments are removed, so that a removed one cannot come back behind a shorter log.
"""

from broker_impl.machine.disk import Disk
from broker_impl.storage.durability import Durability, Unsynced
from broker_impl.storage.epochs import LeaderEpochs
from broker_impl.storage.recent import RecentBatches
from broker_impl.storage.segment import IndexLimits, Segment
from broker_impl.storage.segments import Segments
from broker_impl.storage.snapshots import ProducerSnapshots
from broker_impl.transactions.producers import ProducerStates


class LogFiles:
    """Every method may raise OSError; SyncFailed is the one that must not be tried again.

    `changed`: since the log was loaded or settled."""

    def __init__(self, disk: Disk, segments: Segments, epochs: LeaderEpochs, snapshots: ProducerSnapshots, durability: Durability) -> None:
        self.directory = durability.directory
        self.segments = segments
        self.epochs = epochs
        self.snapshots = snapshots
        self.durability = durability
        self.recent = RecentBatches()
        self._disk = disk
        self.changed = False

    def take(self, base_offset: int, last_offset: int, max_timestamp: int, size: int) -> None:
        """A batch was written to the active segment. Hot path."""
        active = self.segments.active
        self.recent.note(base_offset, active.size)
        active.note(last_offset, max_timestamp, size)
        self.changed = True

    def roll(self, base_offset: int, producers: ProducerStates, limits: IndexLimits, wall_ms: int) -> None:
        """Seals the active segment and begins another; if the disk is full everything stays as it was.

        After a truncation the recovery point on the disk may lie above the new base. A restart would then not look at
        the sealed segment, so it must be on the medium: rare enough to block for it."""
        old, stale = self.segments.active, base_offset < self.durability.checkpointed
        if stale:
            self.sync()
        new = self._create(base_offset, limits, wall_ms)
        try:
            self.snapshots.save(base_offset, producers)
            old.seal()
        except OSError:
            new.unlink()
            raise
        self.durability.sealed(Unsynced(old.file, (*old.paths()[1:], self.snapshots.path(base_offset))))
        self.segments.add(new)
        self.recent.clear()
        if stale:
            self.sync()

    def cut(self, offset: int) -> int:
        """Removes the batch that holds this offset and all behind it; returns the new end."""
        self.changed = True
        self.durability.cut(offset)
        removed = self.segments.take_above(offset)
        self.recent.clear()
        end = self.segments.active.truncate_to(offset)
        self._remove(removed)
        self.epochs.cut_from(end)
        self.snapshots.remove_above(end)
        self.epochs.try_save()
        return end

    def restart(self, offset: int, limits: IndexLimits) -> None:
        """Nothing is left but an empty segment that begins here."""
        self.changed = True
        self.durability.cut(0)
        same_name = [segment for segment in self.segments if segment.base_offset == offset]
        self._remove(same_name)
        removed = self.segments.replace(self._create(offset, limits, 0))
        self.recent.clear()
        self._remove([segment for segment in removed if segment not in same_name])
        self.epochs.clear()
        self.snapshots.keep_only(set())
        self.epochs.try_save()

    def retire(self, count: int) -> list[str]:
        """Takes the oldest segments out of the log; returns the paths to remove later."""
        retired = self.segments.take_first(count)
        self.durability.names_changed()
        self.epochs.cut_below(self.segments.first_base)
        self.epochs.try_save()
        return [path for segment in retired for path in (*segment.mark_deleted(), *self.snapshots.mark_deleted(segment.base_offset))]

    def settle(self, end_offset: int, producers: ProducerStates) -> None:
        """For a clean stop: as after a roll, but no new segment."""
        active = self.segments.active
        active.seal()
        paths = list(active.paths()[1:])
        if len(producers):
            self.snapshots.save(end_offset, producers)
            paths.append(self.snapshots.path(end_offset))
        if self.epochs.unsaved:
            self.epochs.save()
        self.durability.sealed(Unsynced(active.file, tuple(paths)))
        self.changed = False

    def sync(self) -> None:
        """Blocks. What was written before the call is on the medium afterwards."""
        self.durability.sync(self.segments.active.file, self.epochs)

    def _create(self, base_offset: int, limits: IndexLimits, wall_ms: int) -> Segment:
        segment = Segment.create(self._disk, self.directory, base_offset, limits, wall_ms)
        self.durability.names_changed()
        return segment

    def _remove(self, segments: list[Segment]) -> None:
        for segment in segments:
            segment.unlink()
        if segments:
            self._disk.sync_dir(self.directory)
