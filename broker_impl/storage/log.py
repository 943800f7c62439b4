"""One partition's log: batches in order, numbered, in segments, from `start_offset` to `end_offset`.

A leader's append numbers one batch and writes it; a follower's takes many that are numbered already. Everything runs
on the loop but `flush` and `close`, which block. `flush` runs on a thread beside the rest, at most one at a time a
log; `durability` has the reasons why that is safe.

A log that failed (a sync that did not work, a file that no longer makes sense) is offline until the next start:
`failed` says why, and nothing is read from it or written to it any more. A full disk is no failure: the append is
refused and undone, and the next one may work.
"""

import errno
from dataclasses import dataclass

from broker_impl.machine.disk import Disk, File
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import BatchHeader, place, stamp
from broker_impl.storage.durability import Durability, Unsynced
from broker_impl.storage.epochs import LeaderEpochs
from broker_impl.storage.following import CorruptBatch, acceptable, group
from broker_impl.storage.reading import is_intact, locate
from broker_impl.storage.recent import RecentBatches
from broker_impl.storage.retention import expired
from broker_impl.storage.rolling import must_roll
from broker_impl.storage.segment import MAX_RELATIVE_OFFSET, IndexLimits, Segment
from broker_impl.storage.segments import Segments
from broker_impl.storage.snapshots import ProducerSnapshots
from broker_impl.storage.time_lookup import TimeAndOffset, first_at_or_after, latest
from broker_impl.storage.validation import LogConfig, validate
from broker_impl.transactions.producers import Duplicate, ProducerStates

__all__ = ["Appended", "CorruptBatch", "Log", "LogConfig", "LogParts", "LogSlice"]


@dataclass(slots=True)
class Appended:
    base_offset: int
    last_offset: int
    log_append_time: int
    """-1 unless the topic's timestamps are the leader's."""
    duplicate: bool
    size: int


@dataclass(slots=True)
class LogSlice:
    """Bytes of one segment file. Whoever holds it keeps the file open, also after the segment was retired."""

    file: File | None
    position: int
    size: int


@dataclass(slots=True)
class LogParts:
    """What a log is made of when it is created or found on the disk."""

    segments: list[Segment]
    epochs: LeaderEpochs
    snapshots: ProducerSnapshots
    start_offset: int
    end_offset: int
    durability: Durability


class Log:
    """Invariant: start_offset <= end_offset; every offset between them is in exactly one batch; epochs never decrease."""

    def __init__(self, disk: Disk, directory: str, name: tuple[str, int], topic_id: bytes, config: LogConfig, parts: LogParts) -> None:
        self.directory = directory
        self.topic, self.partition = name
        self.topic_id = topic_id
        self.config = config
        self.start_offset = parts.start_offset
        self.end_offset = parts.end_offset
        self.failed: str | None = None
        self._disk = disk
        self._segments = Segments(parts.segments)
        self._epochs = parts.epochs
        self._snapshots = parts.snapshots
        self._durability = parts.durability
        self._recent = RecentBatches()
        self._producers: ProducerStates | None = None
        self._changed = False

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def flushed_offset(self) -> int:
        """Everything below is on the medium: the recovery point."""
        return self._durability.flushed

    @property
    def first_segment_offset(self) -> int:
        return self._segments.first_base

    # -- appending

    def append_as_leader(self, batches: memoryview, leader_epoch: int, wall_ms: int) -> Appended:
        """One batch, numbered in place. Hot path: about 10 us beside checksum and write."""
        if self.failed is not None:
            raise self._offline()
        config, size = self.config, len(batches)
        header = validate(batches, config, wall_ms)
        try:
            self._prepare(leader_epoch)
            if header.producer_id >= 0:
                duplicate = self.producers.check(header)
                if duplicate is not None:
                    return self._answer_duplicate(duplicate, size)
            append_time = -1
            if config.timestamp_type != "CreateTime":
                append_time = wall_ms
                header = stamp(batches, header, wall_ms)
            base_offset, last_offset = self.end_offset, self.end_offset + header.last_delta
            place(batches, header, base_offset, leader_epoch)
            segment = self._segment_for(size, last_offset, header.max_timestamp, wall_ms)
            segment.write(batches)
        except OSError as problem:
            raise self._refused(problem) from problem
        self._take(segment, header, base_offset)
        return Appended(base_offset, last_offset, append_time, False, size)

    def append_as_follower(self, batches: memoryview) -> Appended | None:
        """Many batches as the leader numbered them; raises CorruptBatch where the first cannot be taken."""
        if self.failed is not None:
            raise self._offline()
        accepted = acceptable(batches, self.end_offset, self._epochs.latest)
        if not accepted:
            return None
        try:
            start = 0
            while start < len(accepted):
                start = self._append_group(batches, accepted, start)
        except OSError as problem:
            raise self._refused(problem) from problem
        last_position, last = accepted[-1]
        return Appended(accepted[0][1].base_offset, last.last_offset, -1, False, last_position + last.size)

    # -- reading

    def read(self, offset: int, max_bytes: int, limit_offset: int, *, at_least_one: bool) -> LogSlice:
        """Whole batches from the one that holds the offset, none that begins at or above the limit; at the end of what
        an index knows perhaps a part of one more, never of the first. Hot path: no disk access at the tail."""
        if self.failed is not None:
            raise self._offline()
        if not self.start_offset <= offset <= self.end_offset:
            raise BrokerError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is not in {self.start_offset}..{self.end_offset}")
        if offset >= limit_offset or offset == self.end_offset:
            return LogSlice(None, 0, 0)
        if self._recent.covers(offset):
            active = self._segments.active
            position, size = self._recent.span(offset, max_bytes, limit_offset, active.size, at_least_one=at_least_one)
            return LogSlice(active.file if size else None, position, size)
        return self._read_from_disk(offset, max_bytes, limit_offset, at_least_one)

    def verify_at(self, offset: int) -> bool:
        """Whether the batch that holds this offset is on the disk as its checksum says."""
        return is_intact(self._segments, offset)

    def offset_for_time(self, timestamp: int, limit_offset: int) -> TimeAndOffset | None:
        """The first record at or after this time, if it lies below the limit."""
        found = first_at_or_after(self._segments.all, timestamp, self.start_offset)
        return found if found is not None and found.offset < limit_offset else None

    def max_timestamp(self) -> TimeAndOffset | None:
        return latest(self._segments.all)

    # -- leader epochs

    def latest_epoch(self) -> int:
        return self._epochs.latest

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's first act. If the disk is full the file is written before its first append instead."""
        self._epochs.assign(epoch, start_offset)
        self._epochs.try_save()

    def epoch_start(self, epoch: int) -> int | None:
        return self._epochs.start_of(epoch)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.epoch_at(offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(epoch, self.end_offset)

    # -- cutting

    def truncate_to(self, offset: int) -> None:
        """Removes the batch that holds this offset and all behind it, so the end may come to lie a little lower.
        Blocks for a moment if whole segments go."""
        if offset >= self.end_offset:
            self._epochs.cut_from(self.end_offset)
            self._epochs.try_save()
            return
        if offset < self._segments.first_base:
            self.restart_at(offset)
            return
        self._changed = True
        self._durability.cut(offset)
        try:
            removed = self._segments.take_above(offset)
            self._recent.clear()
            self.end_offset = self._segments.active.truncate_to(offset)
            self._remove(removed)
            self._after_cut()
        except OSError as problem:
            self._fail(f"could not be truncated: {problem}")
            raise
        self._durability.cut(self.end_offset)
        if self.end_offset < self.start_offset:
            self.restart_at(self.start_offset)

    def restart_at(self, offset: int) -> None:
        """An empty log that begins here."""
        self._changed = True
        self._durability.cut(0)
        try:
            same_name = [segment for segment in self._segments if segment.base_offset == offset]
            self._remove(same_name)
            removed = self._segments.replace(self._create_segment(offset, 0))
            self._recent.clear()
            self.start_offset = self.end_offset = offset
            self._remove([segment for segment in removed if segment not in same_name])
            self._epochs.clear()
            self._snapshots.keep_only(set())
            self._after_cut()
        except OSError as problem:
            self._fail(f"could not be restarted at {offset}: {problem}")
            raise
        self._durability.restarted(offset)

    def advance_start(self, offset: int) -> None:
        """Records below are no longer served; their segments go with the next retention check."""
        if offset > self.start_offset:
            assert offset <= self.end_offset
            self.start_offset = offset
            self._cut_epochs_below_start()

    def retire_segments(self, wall_ms: int, high_watermark: int) -> list[str]:
        """Retention. The files are renamed at once and to be removed later; returns their paths. Also the moment at
        which producers that wrote nothing for a day are forgotten."""
        if self.failed is not None:
            return []
        if self._producers is not None:
            self._producers.expire(wall_ms)
        segments, ends = self._segments.all, self._segments.ends(self.end_offset)
        count = expired(segments, ends, self.start_offset, high_watermark, wall_ms, self.config)
        if count == 0:
            return []
        if count == len(segments):
            self._roll(wall_ms)
        retired = self._segments.take_first(count)
        self._durability.names_changed()
        self.start_offset = max(self.start_offset, self._segments.first_base)
        self._cut_epochs_below_start()
        return [path for segment in retired for path in (*segment.mark_deleted(), *self._snapshots.mark_deleted(segment.base_offset))]

    # -- reaching the medium

    def flush(self) -> int:
        """Blocks until everything appended before the call is on the medium; returns the new `flushed_offset`.

        To be called on a thread. A failure takes the log offline: what the kernel dropped cannot be synced again."""
        if self.failed is not None:
            raise OSError(errno.EIO, self.failed)
        generation, end = self._durability.generation(), self.end_offset
        if end == self.flushed_offset and not self._durability.pending:
            return end
        try:
            self._durability.sync(self._segments.active.file, self._epochs)
        except FileNotFoundError:
            return self.flushed_offset
        except OSError as problem:
            self._fail(f"flush failed: {problem}")
            raise
        self._durability.claim(generation, end)
        return self.flushed_offset

    def close(self) -> None:
        """For a clean stop: files cut to size, producers written down, everything synced. Raises OSError if that failed."""
        if self.failed is not None:
            raise OSError(errno.EIO, self.failed)
        if self._changed:
            self._settle()
            self._changed = False
        if self.flushed_offset < self.end_offset or (self._durability.pending and self.size):
            self.flush()
        self._segments.rest()

    def recovery_point_written(self, offset: int, *, before: bool) -> None:
        """A recovery point is about to be written, or was: `checkpointed` is never below what the disk may say."""
        self._durability.checkpointed = max(offset, self._durability.checkpointed) if before else offset

    def abandon(self, why: str) -> None:
        """Offline for good."""
        self._fail(why)
        self._segments.rest()

    # -- producers

    @property
    def producers(self) -> ProducerStates:
        """Replayed from the batches behind a snapshot that is not newer than the active segment, when first needed."""
        if self._producers is None:
            self._producers = self._snapshots.replay(self._segments)
        return self._producers

    # -- inside

    def _prepare(self, leader_epoch: int) -> None:
        if leader_epoch != self._epochs.latest:
            if leader_epoch < self._epochs.latest:
                raise BrokerError(ErrorCode.FENCED_LEADER_EPOCH, f"the log has epoch {self._epochs.latest}")
            self._epochs.assign(leader_epoch, self.end_offset)
        if self._epochs.unsaved:
            self._epochs.save()
        if self._producers is None:
            self._producers = self._snapshots.replay(self._segments)

    def _segment_for(self, size: int, last_offset: int, max_timestamp: int, wall_ms: int | None) -> Segment:
        if must_roll(self._segments.active, self.config, size, last_offset, max_timestamp, wall_ms):
            self._roll(wall_ms)
        return self._segments.active

    def _take(self, segment: Segment, header: BatchHeader, base_offset: int) -> None:
        """The batch is written: from here on it is part of the log."""
        last_offset = base_offset + header.last_delta
        self._recent.note(base_offset, segment.size)
        segment.note(last_offset, header.max_timestamp, header.size)
        if header.producer_id >= 0:
            self.producers.update(header, base_offset)
        self._changed = True
        self.end_offset = last_offset + 1

    def _append_group(self, batches: memoryview, accepted: list[tuple[int, BatchHeader]], start: int) -> int:
        """Writes batches of one epoch that fit into one segment; returns the index after them."""
        position, first = accepted[start]
        self._prepare(first.leader_epoch)
        segment = self._segment_for(first.size, first.last_offset, first.max_timestamp, None)
        stop, size = group(accepted, start, self.config.segment_bytes - segment.size, segment.base_offset + MAX_RELATIVE_OFFSET)
        segment.write(batches[position : position + size])
        for _position, header in accepted[start:stop]:
            self._take(segment, header, header.base_offset)
        return stop

    def _read_from_disk(self, offset: int, max_bytes: int, limit_offset: int, at_least_one: bool) -> LogSlice:
        found = locate(self._segments, offset, max_bytes, limit_offset, at_least_one=at_least_one)
        if found is None:
            self._fail(f"offset {offset} is below the end {self.end_offset} but in no batch")
            raise self._offline()
        segment, position, size = found
        return LogSlice(segment.file if size else None, position, size)

    def _roll(self, wall_ms: int | None) -> None:
        """Seals the active segment and begins another; if the disk is full everything stays as it was."""
        old, base = self._segments.active, self.end_offset
        stale_recovery_point = base < self._durability.checkpointed
        if stale_recovery_point:
            self._sync_now(old.file)
        new = self._create_segment(base, wall_ms or 0)
        try:
            self._snapshots.save(base, self.producers)
            old.seal()
        except OSError:
            new.unlink()
            raise
        self._durability.sealed(Unsynced(old.file, (*old.paths()[1:], self._snapshots.path(base))))
        self._segments.add(new)
        self._recent.clear()
        if stale_recovery_point:
            self._sync_now(new.file)

    def _sync_now(self, file: File) -> None:
        """After a truncation the recovery point on the disk may lie above what is rolled: a restart would not look at
        the sealed segment, so it must be whole before it is sealed. Rare enough to block."""
        try:
            self._durability.sync(file, self._epochs)
        except OSError as problem:
            self._fail(f"flush failed: {problem}")
            raise

    def _create_segment(self, base_offset: int, wall_ms: int) -> Segment:
        limits = IndexLimits(self.config.index_bytes, self.config.index_interval_bytes)
        segment = Segment.create(self._disk, self.directory, base_offset, limits, wall_ms)
        self._durability.names_changed()
        return segment

    def _settle(self) -> None:
        active = self._segments.active
        active.seal()
        paths = list(active.paths()[1:])
        if len(self.producers):
            self._snapshots.save(self.end_offset, self.producers)
            paths.append(self._snapshots.path(self.end_offset))
        if self._epochs.unsaved:
            self._epochs.save()
        self._durability.sealed(Unsynced(active.file, tuple(paths)))

    def _remove(self, segments: list[Segment]) -> None:
        for segment in segments:
            segment.unlink()
        if segments:
            self._disk.sync_dir(self.directory)

    def _after_cut(self) -> None:
        self._epochs.cut_from(self.end_offset)
        self._snapshots.remove_above(self.end_offset)
        self._producers = None
        self._epochs.try_save()

    def _cut_epochs_below_start(self) -> None:
        self._epochs.cut_below(self.start_offset)
        self._epochs.try_save()

    def _answer_duplicate(self, duplicate: Duplicate, size: int) -> Appended:
        append_time = duplicate.timestamp if self.config.timestamp_type != "CreateTime" else -1
        return Appended(duplicate.base_offset, duplicate.last_offset, append_time, True, size)

    def _fail(self, why: str) -> None:
        if self.failed is None:
            self.failed = why

    def _offline(self) -> BrokerError:
        return BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic}-{self.partition} is offline: {self.failed}")

    def _refused(self, problem: OSError) -> BrokerError:
        return BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic}-{self.partition}: {problem.strerror or problem}")

