"""A log found on the disk, made usable: quickly after a clean stop, carefully after any other.

After a clean stop the files are believed: nothing is opened but the end of the last segment. After any other stop
everything that may not have reached the medium is walked, batch by batch. The log is cut at the first batch that is
torn, does not verify, is not at the offset expected there, or is of an older epoch than the one before it: offset
and epoch lie outside the checksum, so an old batch that shines through a gap of unwritten blocks verifies.

A segment that ends exactly at the recovery point is walked too: its data is safe, its index may not be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker_impl.machine.disk import Disk
from broker_impl.storage.batch import BatchHeader, crc_matches
from broker_impl.storage.checkpoints import Malformed
from broker_impl.storage.durability import Durability, Unsynced
from broker_impl.storage.epochs import NO_EPOCH, LeaderEpochs, read_epochs
from broker_impl.storage.files import LogFiles
from broker_impl.storage.log import Log
from broker_impl.storage.scan import whole_batches
from broker_impl.storage.segment import IndexLimits, Segment
from broker_impl.storage.segments import Segments
from broker_impl.storage.snapshots import SUFFIX, ProducerSnapshots
from broker_impl.storage.validation import LogConfig

Report = Callable[[dict[str, object]], None]
_NAME_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the directory's checkpoints say about one log."""

    clean: bool
    recovery_point: int
    start_offset: int
    high_watermark: int


class LogLoader:
    """Loads one log; used once."""

    def __init__(self, disk: Disk, directory: str, sizes: dict[str, int], config: LogConfig, wall_ms: int) -> None:
        self._disk = disk
        self._directory = directory
        self._sizes = sizes
        self._config = config
        self._wall_ms = wall_ms
        self._segments = self._find_segments()
        self._end = self._epoch = 0
        self._problem = ""

    def load(self, name: tuple[str, int], topic_id: bytes, remembered: Remembered, report: Report) -> Log:
        before = sum(segment.size for segment in self._segments)
        epochs, first = self._read_epochs(), self._first_doubtful(remembered)
        if epochs is None:
            epochs, first = LeaderEpochs(self._disk, self._directory, []), 0
        snapshots = ProducerSnapshots(self._disk, self._directory, self._offsets(SUFFIX))
        doubtful_base = self._segments[first].base_offset if first < len(self._segments) else None
        self._mend_indexes(first)
        if doubtful_base is None:
            epochs.cut_from(self._end + 1)
            snapshots.keep_only({segment.base_offset for segment in self._segments})
        else:
            self._recover(first, epochs)
            snapshots.rewrite_above(Segments(self._segments), doubtful_base)
        log = self._assemble(name, topic_id, epochs, snapshots, remembered, doubtful_base)
        if doubtful_base is not None:
            cut = before - log.size
            report(_event("log-recovered", name, start=doubtful_base, end=self._end, cut_bytes=cut, why=self._problem))
        self._compare(log, name, remembered, report)
        return log

    def _offsets(self, suffix: str) -> list[int]:
        names = [name.removesuffix(suffix) for name in self._sizes if name.endswith(suffix)]
        return sorted(int(name) for name in names if len(name) == _NAME_DIGITS and name.isdigit())

    def _find_segments(self) -> list[Segment]:
        limits = IndexLimits(self._config.index_bytes, self._config.index_interval_bytes)
        bases = self._offsets(".log")
        if not bases:
            return [Segment.create(self._disk, self._directory, 0, limits, self._wall_ms)]
        return [Segment(self._disk, self._directory, base, limits, self._wall_ms, self._sizes) for base in bases]

    def _read_epochs(self) -> LeaderEpochs | None:
        """None where only the batches can tell: the file is missing or torn, or does not reach back to the first
        segment (which retention had removed, and a power loss brought back)."""
        empty = not any(segment.size for segment in self._segments)
        try:
            epochs = read_epochs(self._disk, self._directory)
        except Malformed:
            return LeaderEpochs(self._disk, self._directory, []) if empty else None
        return epochs if empty or epochs.epoch_at(self._segments[0].base_offset) != NO_EPOCH else None

    def _first_doubtful(self, remembered: Remembered) -> int:
        """The first segment to be walked; as many as there are segments where none need be."""
        last = len(self._segments) - 1
        if remembered.clean:
            self._end, stop = self._segments[last].read_tail()
            return last + 1 if stop == self._segments[last].size else last
        nexts = [segment.base_offset for segment in self._segments[1:]]
        return next((index for index, base in enumerate(nexts) if base >= remembered.recovery_point), last)

    def _mend_indexes(self, count: int) -> None:
        """An index that somebody removed or damaged, of a segment that is believed."""
        for segment in self._segments[:count]:
            if segment.size > self._config.index_interval_bytes and not self._has_indexes(segment):
                segment.rebuild([header for _position, header in segment.headers()])

    def _has_indexes(self, segment: Segment) -> bool:
        for index in (segment.offset_index, segment.time_index):
            size = self._sizes.get(index.path.rpartition("/")[2])
            if size is None or size % index.ENTRY_SIZE:
                return False
        last = segment.offset_index.last_entry()
        return last is None or 0 < last[1] < segment.size

    def _recover(self, first: int, epochs: LeaderEpochs) -> None:
        """Leaves only what is sound."""
        base = self._segments[first].base_offset
        self._end, self._epoch = base, epochs.epoch_at(base - 1)
        epochs.cut_from(base)
        for index in range(first, len(self._segments)):
            segment = self._segments[index]
            if segment.base_offset != self._end and index > first:
                self._problem = self._problem or f"segment {segment.base_offset} does not follow {self._end}"
                self._drop_from(index)
                return
            found = segment.file.size()
            segment.rebuild(self._sound(segment, found, epochs))
            if segment.size != found:
                self._problem = self._problem or "torn"
                self._drop_from(index + 1)
                return

    def _sound(self, segment: Segment, size: int, epochs: LeaderEpochs) -> Iterator[BatchHeader]:
        for _position, header, batch in whole_batches(segment.file, 0, size):
            if header.base_offset != self._end:
                self._problem = f"offset {header.base_offset} where {self._end} is expected"
            elif header.leader_epoch < self._epoch:
                self._problem = f"epoch {header.leader_epoch} behind {self._epoch} at offset {self._end}"
            elif not crc_matches(batch, header):
                self._problem = f"checksum at offset {self._end}"
            if self._problem:
                return
            if header.leader_epoch > epochs.latest:
                epochs.assign(header.leader_epoch, header.base_offset)
            self._epoch = header.leader_epoch
            self._end = header.last_offset + 1
            yield header

    def _drop_from(self, index: int) -> None:
        for segment in self._segments[index:]:
            segment.unlink()
        del self._segments[index:]
        self._disk.sync_dir(self._directory)

    def _assemble(
        self,
        name: tuple[str, int],
        topic_id: bytes,
        epochs: LeaderEpochs,
        snapshots: ProducerSnapshots,
        remembered: Remembered,
        doubtful_base: int | None,
    ) -> Log:
        flushed = self._end if doubtful_base is None else min(remembered.recovery_point, self._end)
        durability = Durability(self._disk, self._directory, flushed)
        durability.checkpointed = remembered.recovery_point
        if doubtful_base is not None or not any(segment.size for segment in self._segments):
            durability.created()
        for segment in self._segments:
            if doubtful_base is not None and segment.base_offset >= doubtful_base:
                durability.sealed(Unsynced(segment.file, segment.paths()[1:]))
            segment.rest()
        start = max(remembered.start_offset, self._segments[0].base_offset)
        epochs.cut_below(self._segments[0].base_offset)
        epochs.try_save()
        files = LogFiles(self._disk, Segments(self._segments), epochs, snapshots, durability)
        log = Log(name, topic_id, self._config, files, min(start, self._end), self._end)
        if start > self._end:
            log.restart_at(start)
        return log

    def _compare(self, log: Log, name: tuple[str, int], remembered: Remembered, report: Report) -> None:
        if self._end < remembered.high_watermark:
            report(_event("committed-data-lost", name, high_watermark=remembered.high_watermark, end=self._end))


def _event(event: str, name: tuple[str, int], **details: object) -> dict[str, object]:
    return {"event": event, "topic": name[0], "part": name[1], **details}
