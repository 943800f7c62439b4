"""The log against a plain list of batches: whatever is appended, cut, retired, damaged or reopened, both agree."""

import random
import shutil
import tempfile
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from broker_impl.machine.disk import Disk, RealDisk
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import parse_header
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory
from broker_impl.storage.records import Record, build_batch, records
from tests.broker_impl.forgetful_disk import ForgetfulDisk

NAME = ("topic", 0)
EVERYTHING = 2**62
CONFIG = LogConfig(segment_bytes=700, index_bytes=96, index_interval_bytes=100, retention_ms=-1, segment_ms=1000)
TIMES = st.integers(0, 3000)
PRODUCERS = st.sampled_from([-1, -1, 1, 2])


class Model:
    """Batches as bytes, in order. `history` never forgets what was retired, because producer states do not either."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.history: list[bytes] = []
        self.start = self.end = self.checkpointed_start = 0

    def append(self, batch: bytes) -> None:
        self.batches.append(batch)
        self.history.append(batch)
        self.end = parse_header(batch).last_offset + 1

    def cut(self, offset: int) -> None:
        self.end = min([parse_header(batch).base_offset for batch in self.from_offset(offset)], default=self.end)
        self.batches = [batch for batch in self.batches if parse_header(batch).last_offset < offset]
        self.history = [batch for batch in self.history if parse_header(batch).last_offset < offset]
        if self.end < self.start:
            self.restart(self.start)

    def restart(self, offset: int) -> None:
        self.batches, self.history = [], []
        self.start = self.end = self.checkpointed_start = offset

    def from_offset(self, offset: int) -> list[bytes]:
        return [batch for batch in self.batches if parse_header(batch).last_offset >= offset]

    def next_sequence(self, producer_id: int) -> int:
        headers = [parse_header(batch) for batch in self.history]
        return next((h.base_sequence + h.last_delta + 1 for h in reversed(headers) if h.producer_id == producer_id), 0)

    def first_at_or_after(self, timestamp: int) -> tuple[int, int] | None:
        everything = (record for batch in self.batches for record in records(batch))
        return next(((r.timestamp, r.offset) for r in everything if r.timestamp >= timestamp and r.offset >= self.start), None)


class LogMachine(RuleBasedStateMachine):
    def make_disk(self) -> tuple[Disk, str]:
        return ForgetfulDisk(), "/data"

    def release(self) -> None:
        assert isinstance(self.disk, ForgetfulDisk)
        self.disk.kill()

    @initialize()
    def create(self) -> None:
        self.disk, self.path = self.make_disk()
        self.model = Model()
        self.epoch = 0
        self.wall = 5000
        self._open_directory()
        self.log: Log = self.directory.create(*NAME, b"0123456789abcdef", CONFIG)

    @rule(count=st.integers(1, 3), size=st.integers(0, 120), when=TIMES, producer=PRODUCERS)
    def append_as_leader(self, count: int, size: int, when: int, producer: int) -> None:
        batch = self._build(count, size, when, producer)
        appended = self.log.append_as_leader(memoryview(batch), self.epoch, self.wall)
        assert (appended.base_offset, appended.last_offset) == (self.model.end, self.model.end + count - 1)
        assert not appended.duplicate
        self.model.append(bytes(batch))

    @rule(sizes=st.lists(st.integers(0, 120), min_size=1, max_size=8), when=TIMES, producer=PRODUCERS, torn=st.integers(0, 80))
    def append_as_follower(self, sizes: list[int], when: int, producer: int, torn: int) -> None:
        chunk = b""
        for size in sizes:
            batch = self._build(1, size, when, producer)
            self.model.append(bytes(batch))
            chunk += batch
        chunk += bytes(self._build(1, 100, when, -1))[:torn]
        appended = self.log.append_as_follower(memoryview(chunk))
        assert appended is not None
        assert appended.last_offset == self.model.end - 1

    @precondition(lambda self: any(parse_header(batch).producer_id >= 0 for batch in self.model.history))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        sent = [batch for batch in self.model.history if parse_header(batch).producer_id >= 0]
        batch = data.draw(st.sampled_from(sent))
        header = parse_header(batch)
        of_producer = [one for one in sent if parse_header(one).producer_id == header.producer_id]
        if batch in of_producer[-5:]:
            appended = self.log.append_as_leader(memoryview(bytearray(batch)), self.epoch, self.wall)
            assert (appended.duplicate, appended.base_offset) == (True, header.base_offset)
        else:
            try:
                self.log.append_as_leader(memoryview(bytearray(batch)), self.epoch, self.wall)
            except BrokerError as refused:
                assert refused.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            else:
                raise AssertionError("an old duplicate was taken")

    @rule(step=st.integers(1, 3))
    def lead_anew(self, step: int) -> None:
        self.epoch += step
        self.log.assign_epoch(self.epoch, self.log.end_offset)

    @rule(where=st.floats(0, 1))
    def truncate(self, where: float) -> None:
        offset = self.model.start + round(where * (self.model.end - self.model.start))
        self.log.truncate_to(offset)
        self.model.cut(offset)

    @rule(where=st.floats(0, 1))
    def advance_start(self, where: float) -> None:
        self.model.start += round(where * (self.model.end - self.model.start))
        self.log.advance_start(self.model.start)

    @rule(jump=st.integers(0, 50))
    def restart(self, jump: int) -> None:
        offset = self.model.end + jump
        self.log.restart_at(offset)
        self.model.restart(offset)

    @rule(keep=st.integers(0, 1500), high=st.floats(0, 1))
    def retain_by_size(self, keep: int, high: float) -> None:
        self._retain(replace(CONFIG, retention_bytes=keep), high)

    @rule(keep_ms=st.integers(2000, 5000), high=st.floats(0, 1))
    def retain_by_time(self, keep_ms: int, high: float) -> None:
        self._retain(replace(CONFIG, retention_ms=keep_ms), high)

    @rule()
    def flush(self) -> None:
        assert self.log.flush() == self.model.end

    @rule()
    def reopen_after_a_clean_stop(self) -> None:
        self.log.close()
        self._checkpoint()
        self.directory.mark_clean(7)
        self.directory.close()
        self._reload()
        assert self.directory.events == []
        assert self.log.flushed_offset == self.model.end

    @rule(checkpointed=st.booleans())
    def reopen_after_a_kill(self, checkpointed: bool) -> None:
        if checkpointed:
            self._checkpoint()
        self.model.start = max(self.model.checkpointed_start, self.log.first_segment_offset)
        self._crash()

    @rule(where=st.floats(0, 1), garble=st.booleans(), bit=st.integers(0, 7))
    def recover_from_damage(self, where: float, garble: bool, bit: int) -> None:
        """To a random byte of the last segment, which is always looked at. A leader epoch that was changed is left
        out: nothing protects it."""
        bases = [int(entry.name[:20]) for entry in self.disk.list(self.log.directory) if entry.name.endswith(".log")]
        last = [batch for batch in self.model.batches if parse_header(batch).base_offset >= max(bases)]
        size = sum(len(batch) for batch in last)
        if not size:
            return
        at = min(round(where * size), size - 1)
        hit, inside = _batch_at(last, at)
        file = self.disk.open(f"{self.log.directory}/{max(bases):020d}.log")
        if not garble:
            file.truncate(at)
        elif 12 <= inside < 16:
            return
        else:
            file.pwrite(bytes([file.pread(1, at)[0] ^ (1 << bit)]), at)
        self._checkpoint()
        lost = parse_header(last[hit]).base_offset
        self.model.cut(lost)
        self._crash()
        assert "committed-data-lost" in [event["event"] for event in self.directory.events]

    @rule(where=st.floats(0, 1), max_bytes=st.integers(0, 900), limit=st.floats(0, 1), at_least_one=st.booleans())
    def read(self, where: float, max_bytes: int, limit: float, at_least_one: bool) -> None:
        offset = self.model.start + round(where * (self.model.end - self.model.start))
        limit_offset = self.model.start + round(limit * (self.model.end - self.model.start))
        got = self._bytes(offset, max_bytes, limit_offset, at_least_one)
        expected = [batch for batch in self.model.from_offset(offset) if parse_header(batch).base_offset < limit_offset]
        assert b"".join(expected).startswith(got)
        if offset >= limit_offset or not expected:
            assert got == b""
        elif len(expected[0]) <= max_bytes or at_least_one:
            assert len(got) >= len(expected[0])
        else:
            assert got == b""
        assert len(got) <= max_bytes or (at_least_one and got == expected[0])

    @rule(timestamp=TIMES)
    def look_up_by_time(self, timestamp: int) -> None:
        found = self.log.offset_for_time(timestamp, EVERYTHING)
        assert (found and (found.timestamp, found.offset)) == self.model.first_at_or_after(timestamp)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.start_offset, self.log.end_offset) == (self.model.start, self.model.end)
        assert self.log.size == sum(len(batch) for batch in self.model.batches)
        assert self.log.flushed_offset <= self.log.end_offset
        assert self.log.failed is None

    @invariant()
    def holds_the_same_bytes(self) -> None:
        if not hasattr(self, "log"):
            return
        offset, got = self.model.start, b""
        while offset < self.model.end:
            piece = self._bytes(offset, 400, EVERYTHING, True)
            whole = _whole_batches(piece)
            got += b"".join(whole)
            offset = parse_header(whole[-1]).last_offset + 1
        assert got == b"".join(self.model.from_offset(self.model.start))

    @invariant()
    def knows_where_epochs_end(self) -> None:
        if not hasattr(self, "log"):
            return
        ends = {parse_header(batch).leader_epoch: parse_header(batch).last_offset + 1 for batch in self.model.from_offset(self.model.start)}
        for epoch, end in ends.items():
            assert self.log.end_offset_for_epoch(epoch) == (epoch, end)

    def _build(self, count: int, size: int, when: int, producer: int) -> bytearray:
        contents = [Record(bytes(size), timestamp=max(when - index, 0)) for index in range(count)]
        sequence = self.model.next_sequence(producer) if producer >= 0 else -1
        return build_batch(
            contents,
            base_offset=self.model.end,
            leader_epoch=self.epoch,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=sequence,
        )

    def _retain(self, config: LogConfig, high: float) -> None:
        watermark = self.model.start + round(high * (self.model.end - self.model.start))
        size_before = self.log.size
        self.log.config = config
        for path in self.log.retire_segments(self.wall, watermark):
            self.disk.unlink(path)
        self.log.config = CONFIG
        assert self.log.start_offset <= max(watermark, self.model.start)
        if config.retention_bytes >= 0:
            assert self.log.size >= min(config.retention_bytes, size_before) or self.log.start_offset > 0
        first = self.log.first_segment_offset
        self.model.batches = self.model.from_offset(first)
        self.model.start = max(self.model.start, first)

    def _bytes(self, offset: int, max_bytes: int, limit_offset: int, at_least_one: bool) -> bytes:
        found = self.log.read(offset, max_bytes, limit_offset, at_least_one=at_least_one)
        return found.file.pread(found.size, found.position) if found.file is not None else b""

    def _checkpoint(self) -> None:
        self.directory.checkpoint({NAME: self.model.end})
        self.model.checkpointed_start = self.model.start

    def _crash(self) -> None:
        self.release()
        self._reload()
        assert self.log.flushed_offset <= self.model.end

    def _open_directory(self) -> None:
        self.directory = LogDirectory(self.disk, self.path, random.Random(0))
        self.directory.open()

    def _reload(self) -> None:
        self._open_directory()
        self.log = self.directory.load(lambda topic: CONFIG, self.wall)[NAME]


class RealDiskMachine(LogMachine):
    def make_disk(self) -> tuple[Disk, str]:
        self.folder = tempfile.mkdtemp()
        return RealDisk(), self.folder

    def release(self) -> None:
        self.directory.close()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.directory.close()
            shutil.rmtree(self.folder)


def test_the_log_is_a_list_of_batches() -> None:
    run_state_machine_as_test(LogMachine, settings=settings(max_examples=400, stateful_step_count=40))


def test_the_log_is_a_list_of_batches_on_a_real_disk() -> None:
    run_state_machine_as_test(RealDiskMachine, settings=settings(max_examples=15, stateful_step_count=25))


def _batch_at(batches: list[bytes], position: int) -> tuple[int, int]:
    """(index, position inside) of the batch that has this byte."""
    for index, batch in enumerate(batches):
        if position < len(batch):
            return index, position
        position -= len(batch)
    raise AssertionError("past the end")


def _whole_batches(data: bytes) -> list[bytes]:
    found = []
    while len(data) >= 61 and len(data) >= parse_header(data).size:
        size = parse_header(data).size
        found.append(data[:size])
        data = data[size:]
    return found
