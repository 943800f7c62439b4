"""One partition's log: batches in order, numbered, in segments, from `start_offset` to `end_offset`.

A leader's append numbers one batch and writes it; a follower's takes many that are numbered already. Everything runs
on the loop but `flush` and `close`, which block. `flush` runs on a thread beside the rest, at most one at a time a
log; `durability` has the reasons why that is safe.

A log that failed (a sync that did not work, a file that no longer makes sense) is offline until the next start:
`failed` says why, and nothing is read from it or written to it any more. A full disk is no failure: the append is
refused and undone, and the next one may work.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from broker_impl.machine.disk import File
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import OVERHEAD, BatchHeader, place, stamp
from broker_impl.storage.durability import SyncFailed
from broker_impl.storage.files import LogFiles
from broker_impl.storage.following import CorruptBatch, acceptable, group
from broker_impl.storage.reading import is_intact, locate
from broker_impl.storage.retention import expired
from broker_impl.storage.rolling import must_roll
from broker_impl.storage.segment import MAX_RELATIVE_OFFSET, IndexLimits, Segment
from broker_impl.storage.time_lookup import TimeAndOffset, first_at_or_after, latest
from broker_impl.storage.validation import LogConfig, validate
from broker_impl.transactions.producers import Duplicate, ProducerStates, distance

__all__ = ["Appended", "CorruptBatch", "Log", "LogConfig", "LogSlice"]


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


class Log:
    """Invariant: start_offset <= end_offset; every offset between them is in exactly one batch; epochs never decrease."""

    def __init__(
        self, name: tuple[str, int], topic_id: bytes, config: LogConfig, files: LogFiles, start_offset: int, end_offset: int
    ) -> None:
        self.topic, self.partition = name
        self.topic_id = topic_id
        self.directory = files.directory
        self.config = config
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.failed: str | None = None
        self._files = files
        self._segments = files.segments
        self._epochs = files.epochs
        self._producers: ProducerStates | None = None

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def flushed_offset(self) -> int:
        """Everything below is on the medium: the recovery point."""
        return self._files.durability.flushed

    @property
    def first_segment_offset(self) -> int:
        return self._segments.first_base

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
        self._take(header, base_offset)
        return Appended(base_offset, last_offset, append_time, False, size)

    def expected_sequence(self, header: BatchHeader) -> int | None:
        """With which its producer has to go on here; None where any will do."""
        with self._reading():
            return self.producers.expected(header)

    def skips_to(self, header: BatchHeader, since: int) -> bool:
        """Whether this would be its producer's first batch from this offset on, and leave a gap before it."""
        with self._reading():
            expected = self.producers.expected(header)
            gap = expected is not None and distance(expected, header.base_sequence) > 0
            return gap and not self.producers.has_written_since(header.producer_id, since)

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

    def read(self, offset: int, max_bytes: int, limit_offset: int, *, at_least_one: bool) -> LogSlice:
        """Whole batches from the one that holds the offset, none that begins at or above the limit; at the end of what
        an index knows perhaps a part of one more, never of the first. Hot path: no disk access at the tail."""
        if self.failed is not None:
            raise self._offline()
        if not self.start_offset <= offset <= self.end_offset:
            raise BrokerError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset} is not in {self.start_offset}..{self.end_offset}")
        if offset >= limit_offset or offset == self.end_offset:
            return LogSlice(None, 0, 0)
        recent = self._files.recent
        if recent.covers(offset):
            active = self._segments.active
            position, size = recent.span(offset, max_bytes, limit_offset, active.size, at_least_one=at_least_one)
            return LogSlice(active.file if size else None, position, size)
        return self._read_from_disk(offset, max_bytes, limit_offset, at_least_one)

    def verify_at(self, offset: int) -> bool:
        """Whether the batch that holds this offset is on the disk as its checksum says."""
        try:
            return is_intact(self._segments, offset)
        except OSError:
            return False

    def offset_for_time(self, timestamp: int, limit_offset: int) -> TimeAndOffset | None:
        """The first record at or after this time, if it lies below the limit."""
        with self._reading():
            found = first_at_or_after(self._segments.all, timestamp, self.start_offset)
        return found if found is not None and found.offset < limit_offset else None

    def max_timestamp(self) -> TimeAndOffset | None:
        with self._reading():
            return latest(self._segments.all)

    def latest_epoch(self) -> int:
        return self._epochs.latest

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's first act. The file is written before its first append: an epoch that wrote nothing need not be
        remembered, and a broker that starts takes up thousands at once."""
        self._epochs.assign(epoch, start_offset)

    def epoch_start(self, epoch: int) -> int | None:
        return self._epochs.start_of(epoch)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.epoch_at(offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(epoch, self.end_offset)

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
        with self._changing():
            self.end_offset = self._files.cut(offset)
            self._producers = None
        self._files.durability.cut(self.end_offset)
        if self.end_offset < self.start_offset:
            self.restart_at(self.start_offset)

    def restart_at(self, offset: int) -> None:
        """An empty log that begins here. Blocks for a moment."""
        with self._changing():
            self._files.restart(offset, self._index_limits())
            self.start_offset = self.end_offset = offset
            self._producers = None
        self._files.durability.restarted(offset)

    def advance_start(self, offset: int) -> None:
        """Records below are no longer served; their segments go with the next retention check."""
        if offset > self.start_offset:
            assert offset <= self.end_offset
            self.start_offset = offset

    def retire_segments(self, wall_ms: int, high_watermark: int) -> list[str]:
        """Retention. The files are renamed at once and to be removed later; returns their paths. Also the moment at
        which producers that wrote nothing for a day are forgotten."""
        if self.failed is not None:
            return []
        if self._producers is not None:
            self._producers.expire(wall_ms)
        try:
            segments, ends = self._segments.all, self._segments.ends(self.end_offset)
            count = expired(segments, ends, self.start_offset, high_watermark, wall_ms, self.config)
            if count == len(segments):
                self._roll(wall_ms)
            paths = self._files.retire(count) if count else []
        except OSError as problem:
            raise self._refused(problem) from problem
        self.advance_start(self._segments.first_base)
        return paths

    def flush(self) -> int:
        """Blocks until everything appended before the call is on the medium; returns the new `flushed_offset`.

        To be called on a thread. A failure takes the log offline: what the kernel dropped cannot be synced again."""
        if self.failed is not None:
            raise OSError(errno.EIO, self.failed)
        durability = self._files.durability
        generation, end = durability.generation(), self.end_offset
        if end == durability.flushed and not durability.pending:
            return end
        try:
            self._files.sync()
        except FileNotFoundError:
            return durability.flushed
        except SyncFailed as problem:
            self._fail(str(problem))
            raise
        durability.claim(generation, end)
        return durability.flushed

    def close(self) -> None:
        """For a clean stop: files cut to size, producers written down, everything synced. Raises OSError if that failed."""
        if self.failed is not None:
            raise OSError(errno.EIO, self.failed)
        if self._files.changed:
            self._files.settle(self.end_offset, self.producers)
        if self.flushed_offset < self.end_offset or (self._files.durability.pending and self.size):
            self.flush()
        self._segments.rest()

    def recovery_point_written(self, offset: int, *, before: bool) -> None:
        """A recovery point is about to be written, or was: `checkpointed` is never below what the disk may say."""
        durability = self._files.durability
        durability.checkpointed = max(offset, durability.checkpointed) if before else offset

    def abandon(self, why: str) -> None:
        """Offline for good."""
        self._fail(why)
        self._segments.rest()

    @property
    def producers(self) -> ProducerStates:
        """Replayed from the batches behind a snapshot that is not newer than the active segment, when first needed."""
        if self._producers is None:
            self._producers = self._files.snapshots.replay(self._segments)
        return self._producers

    def _prepare(self, leader_epoch: int) -> None:
        if leader_epoch != self._epochs.latest:
            if leader_epoch < self._epochs.latest:
                raise BrokerError(ErrorCode.FENCED_LEADER_EPOCH, f"the log has epoch {self._epochs.latest}")
            self._epochs.assign(leader_epoch, self.end_offset)
        if self._epochs.unsaved:
            self._epochs.save()
        if self._producers is None:
            self._producers = self._files.snapshots.replay(self._segments)

    def _segment_for(self, size: int, last_offset: int, max_timestamp: int, wall_ms: int | None) -> Segment:
        if must_roll(self._segments.active, self.config, size, last_offset, max_timestamp, wall_ms):
            self._roll(wall_ms)
        return self._segments.active

    def _take(self, header: BatchHeader, base_offset: int) -> None:
        """The batch is written: from here on it is part of the log."""
        last_offset = base_offset + header.last_delta
        self._files.take(base_offset, last_offset, header.max_timestamp, header.length + OVERHEAD)
        if header.producer_id >= 0:
            self.producers.update(header, base_offset)
        self.end_offset = last_offset + 1

    def _append_group(self, batches: memoryview, accepted: list[tuple[int, BatchHeader]], start: int) -> int:
        """Writes batches of one epoch that fit into one segment; returns the index after them."""
        position, first = accepted[start]
        self._prepare(first.leader_epoch)
        segment = self._segment_for(first.size, first.last_offset, first.max_timestamp, None)
        stop, size = group(accepted, start, self.config.segment_bytes - segment.size, segment.base_offset + MAX_RELATIVE_OFFSET)
        segment.write(batches[position : position + size])
        for _position, header in accepted[start:stop]:
            self._take(header, header.base_offset)
        return stop

    def _read_from_disk(self, offset: int, max_bytes: int, limit_offset: int, at_least_one: bool) -> LogSlice:
        with self._reading():
            found = locate(self._segments, offset, max_bytes, limit_offset, at_least_one=at_least_one)
            if found is None:
                self._fail(f"offset {offset} is below the end {self.end_offset} but in no batch")
                raise self._offline()
            segment, position, size = found
            return LogSlice(segment.file if size else None, position, size)

    def _roll(self, wall_ms: int | None) -> None:
        self._files.roll(self.end_offset, self.producers, self._index_limits(), wall_ms or 0)

    def _index_limits(self) -> IndexLimits:
        return IndexLimits(self.config.index_bytes, self.config.index_interval_bytes)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self.failed is not None:
            raise self._offline()
        try:
            yield
        except OSError as problem:
            raise self._refused(problem) from problem

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What fails half-way leaves a log that only a restart can make sense of."""
        try:
            yield
        except OSError as problem:
            self._fail(f"could not be cut: {problem}")
            raise self._offline() from problem

    def _answer_duplicate(self, duplicate: Duplicate, size: int) -> Appended:
        append_time = duplicate.timestamp if self.config.timestamp_type != "CreateTime" else -1
        return Appended(duplicate.base_offset, duplicate.last_offset, append_time, True, size)

    def _fail(self, why: str) -> None:
        if self.failed is None:
            self.failed = why

    def _offline(self) -> BrokerError:
        return BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic}-{self.partition} is offline: {self.failed}")

    def _refused(self, problem: OSError) -> BrokerError:
        if isinstance(problem, SyncFailed):
            self._fail(str(problem))
        return BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.topic}-{self.partition}: {problem.strerror or problem}")
