"""One log: what each operation promises, one promise a test. The stateful test has the combinations."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_impl.machine.disk import RealDisk
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import parse_header
from broker_impl.storage.log import CorruptBatch, LogConfig
from broker_impl.storage.records import records
from tests.broker_impl.forgetful_disk import ForgetfulDisk, SimulatedFile
from tests.broker_impl.storage.logs import EVERYTHING, WALL, batch, contents, create, fill, new_log, placed

DIRECTORY = "/data/topic-0"


def files(disk: ForgetfulDisk, suffix: str) -> list[str]:
    return [entry.name for entry in disk.list(DIRECTORY) if entry.name.endswith(suffix)]


# -- appending


def test_a_leader_numbers_batches_and_stamps_its_epoch() -> None:
    log = new_log(ForgetfulDisk())
    first, second = batch(count=3), batch(count=2)
    log.append_as_leader(first, 4, WALL)
    appended = log.append_as_leader(second, 4, WALL)
    assert (appended.base_offset, appended.last_offset, appended.log_append_time) == (3, 4, -1)
    assert [(parse_header(one).base_offset, parse_header(one).leader_epoch) for one in contents(log)] == [(0, 4), (3, 4)]


def test_with_log_append_time_records_get_the_leaders_clock() -> None:
    log = new_log(ForgetfulDisk(), timestamp_type="LogAppendTime")
    assert log.append_as_leader(batch(count=2), 1, 777).log_append_time == 777
    assert {record.timestamp for record in records(contents(log)[0])} == {777}
    assert log.verify_at(0)


def test_a_duplicate_gets_its_first_offset_and_is_not_written() -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 1)
    log.append_as_leader(batch(producer=7, sequence=0), 1, WALL)
    size = log.size
    again = log.append_as_leader(batch(producer=7, sequence=0), 1, WALL)
    assert (again.duplicate, again.base_offset, again.last_offset) == (True, 1, 1)
    assert (log.size, log.end_offset) == (size, 2)


def test_a_leader_of_an_older_epoch_may_not_append() -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 1, epoch=5)
    with pytest.raises(BrokerError) as refused:
        log.append_as_leader(batch(), 4, WALL)
    assert refused.value.code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_follower_takes_what_the_leader_numbered_and_leaves_a_cut_off_batch() -> None:
    log = new_log(ForgetfulDisk())
    whole = bytes(placed(0, 1)) + bytes(placed(1, 2, count=3))
    appended = log.append_as_follower(memoryview(whole + bytes(placed(4, 2))[:80]))
    assert appended is not None
    assert (appended.base_offset, appended.last_offset, appended.size) == (0, 3, len(whole))
    assert b"".join(contents(log)) == whole
    assert log.end_offset_for_epoch(1) == (1, 1)


def test_a_follower_takes_nothing_from_nothing() -> None:
    log = new_log(ForgetfulDisk())
    assert log.append_as_follower(memoryview(b"")) is None
    assert log.append_as_follower(placed(0, 1)[:40]) is None


def _wrong_offset() -> bytes:
    return bytes(placed(7, 1))


def _old_epoch() -> bytes:
    return bytes(placed(2, 0))


def _flipped() -> bytes:
    bad = placed(2, 1)
    bad[-1] ^= 1
    return bytes(bad)


def _lying_length() -> bytes:
    bad = placed(2, 1)
    bad[8:12] = (2**30).to_bytes(4, "big")
    return bytes(bad)


BAD = pytest.mark.parametrize("bad", [_wrong_offset, _old_epoch, _flipped, _lying_length])


@BAD
def test_a_follower_refuses_a_bad_batch_and_says_where(bad: Callable[[], bytes]) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 2)
    with pytest.raises(CorruptBatch) as refused:
        log.append_as_follower(memoryview(bad()))
    assert refused.value.offset == 2
    assert log.end_offset == 2


def test_a_follower_keeps_good_batches_in_front_of_a_bad_one() -> None:
    log = new_log(ForgetfulDisk())
    bad = placed(2, 1)
    bad[-1] ^= 1
    log.append_as_follower(memoryview(bytes(placed(0, 1)) + bytes(placed(1, 1)) + bytes(bad)))
    assert log.end_offset == 2


# -- rolling


def test_a_full_segment_is_followed_by_another_named_by_its_first_offset() -> None:
    disk = ForgetfulDisk()
    fill(new_log(disk), 5)
    assert files(disk, ".log") == ["00000000000000000000.log", "00000000000000000003.log"]
    assert files(disk, ".snapshot") == ["00000000000000000003.snapshot"]


def test_a_segment_is_rolled_when_its_records_span_too_much_time() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk, segment_bytes=10_000, segment_ms=100)
    for timestamp in (1000, 1100, 1101):
        log.append_as_leader(batch(timestamp=timestamp), 1, WALL)
    assert files(disk, ".log") == ["00000000000000000000.log", "00000000000000000002.log"]


def test_records_without_a_time_roll_by_the_clock() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk, segment_bytes=10_000, segment_ms=100)
    for wall in (WALL, WALL + 50, WALL + 151):
        log.append_as_leader(batch(timestamp=-1), 1, wall)
    assert files(disk, ".log") == ["00000000000000000000.log", "00000000000000000002.log"]


def test_a_full_index_ends_a_segment() -> None:
    disk = ForgetfulDisk()
    fill(new_log(disk, segment_bytes=100_000, index_bytes=40), 12)
    assert len(files(disk, ".log")) > 1


def test_offsets_that_do_not_fit_the_index_end_a_segment() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    log.restart_at(0)
    fill(log, 1)
    log.end_offset = 2**31
    log.append_as_leader(batch(), 1, WALL)
    assert files(disk, ".log")[-1] == f"{2**31:020d}.log"


def test_a_sealed_segment_has_indexes_cut_to_size_and_the_latest_time() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    for timestamp in (1000, 3000, 2000, 2500):
        log.append_as_leader(batch(timestamp=timestamp), 1, WALL)
    assert len(disk.read(f"{DIRECTORY}/00000000000000000000.index")) == 16
    assert disk.read(f"{DIRECTORY}/00000000000000000000.timeindex")[-12:] == (3000).to_bytes(8, "big") + (1).to_bytes(4, "big")


# -- reading


def test_a_read_returns_whole_batches_from_the_one_that_holds_the_offset() -> None:
    log = new_log(ForgetfulDisk(), segment_bytes=10_000)
    for _ in range(3):
        log.append_as_leader(batch(count=4, size=10), 1, WALL)
    size = len(contents(log)[0])
    piece = log.read(5, EVERYTHING, EVERYTHING, at_least_one=True)
    assert (piece.position, piece.size) == (size, 2 * size)
    assert log.read(5, 2 * size - 1, EVERYTHING, at_least_one=True).size == size


def test_a_first_batch_larger_than_asked_comes_whole_or_not_at_all() -> None:
    log = new_log(ForgetfulDisk())
    one = fill(log, 1)[0]
    assert log.read(0, 10, EVERYTHING, at_least_one=True).size == len(one)
    empty = log.read(0, 10, EVERYTHING, at_least_one=False)
    assert (empty.file, empty.size) == (None, 0)


def test_a_read_ends_below_the_limit() -> None:
    log = new_log(ForgetfulDisk(), segment_bytes=10_000)
    one = fill(log, 3)[0]
    assert log.read(0, EVERYTHING, 2, at_least_one=True).size == 2 * len(one)
    assert log.read(2, EVERYTHING, 2, at_least_one=True).size == 0


def test_the_end_is_in_range_and_empty() -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 1)
    assert log.read(1, EVERYTHING, EVERYTHING, at_least_one=True).size == 0


@pytest.mark.parametrize("offset", [-1, 1, 4])
def test_an_offset_outside_the_log_is_out_of_range(offset: int) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 3)
    log.advance_start(2)
    with pytest.raises(BrokerError) as refused:
        log.read(offset, EVERYTHING, EVERYTHING, at_least_one=True)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_reading_the_tail_touches_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 8)

    def forbidden(*_arguments: object) -> bytes:
        raise AssertionError("the disk was read")

    monkeypatch.setattr(SimulatedFile, "pread", forbidden)
    assert log.read(7, EVERYTHING, EVERYTHING, at_least_one=True).size > 0


def test_a_reader_keeps_its_file_when_the_segment_is_retired(tmp_path: Path) -> None:
    disk = RealDisk()
    _directory, log = create(disk, LogConfig(segment_bytes=600, retention_bytes=0), str(tmp_path))
    written = fill(log, 8)
    piece = log.read(0, EVERYTHING, EVERYTHING, at_least_one=True)
    for path in log.retire_segments(WALL, log.end_offset):
        disk.unlink(path)
    assert piece.file is not None
    assert piece.file.pread(len(written[0]), piece.position) == written[0]


def test_many_sealed_segments_do_not_keep_many_files_open(tmp_path: Path) -> None:
    _directory, log = create(RealDisk(), LogConfig(segment_bytes=200), str(tmp_path))
    fill(log, 60)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert len(contents(log)) == 60
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 40


# -- looking up by time


def test_the_first_record_at_or_after_a_time_is_found_inside_its_batch() -> None:
    log = new_log(ForgetfulDisk())
    for timestamp in (1000, 2000, 3000):
        log.append_as_leader(batch(count=5, size=5, timestamp=timestamp), 1, WALL)
    assert log.offset_for_time(2002, EVERYTHING) == (2002, 7, 1)
    assert log.offset_for_time(2005, EVERYTHING) == (3000, 10, 1)
    assert log.offset_for_time(3005, EVERYTHING) is None


def test_a_compressed_batch_is_answered_with_its_first_offset() -> None:
    log = new_log(ForgetfulDisk())
    log.append_as_leader(batch(count=5, size=5, timestamp=1000, attributes=4), 1, WALL)
    assert log.offset_for_time(1003, EVERYTHING) == (1003, 0, 1)


def test_a_record_at_or_above_the_limit_is_not_found_by_time() -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 3)
    assert log.offset_for_time(0, 0) is None


def test_the_latest_time_is_found_with_its_record() -> None:
    log = new_log(ForgetfulDisk())
    for timestamp in (1000, 5000, 2000):
        log.append_as_leader(batch(count=2, timestamp=timestamp), 3, WALL)
    assert log.max_timestamp() == (5001, 3, 3)
    assert new_log(ForgetfulDisk()).max_timestamp() is None


# -- a full disk, a broken disk


def test_an_append_to_a_full_disk_is_undone_and_the_log_goes_on() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    written = fill(log, 1)
    disk.room = 70
    with pytest.raises(BrokerError) as refused:
        log.append_as_leader(batch(), 1, WALL)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(disk.read(f"{DIRECTORY}/00000000000000000000.log")) == log.size
    assert contents(log) == written
    disk.room = None
    assert [*written, *fill(log, 5)] == contents(log)
    assert log.failed is None


def test_a_roll_on_a_full_disk_is_undone_and_the_log_goes_on() -> None:
    for room in range(0, 400, 20):
        disk = ForgetfulDisk()
        log = new_log(disk)
        written = fill(log, 3)
        disk.room = room
        for _ in range(4):
            one = batch()
            try:
                log.append_as_leader(one, 2, WALL)
            except BrokerError as refused:
                assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
            else:
                written.append(bytes(one))
        disk.room = None
        assert [*written, *fill(log, 3, epoch=2)] == contents(log)


def test_a_refused_append_leaves_the_producers_sequence_where_it_was() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    log.append_as_leader(batch(producer=7, sequence=0), 1, WALL)
    disk.room = 0
    with pytest.raises(BrokerError):
        log.append_as_leader(batch(producer=7, sequence=1), 1, WALL)
    disk.room = None
    assert not log.append_as_leader(batch(producer=7, sequence=1), 1, WALL).duplicate


def test_after_a_failed_sync_the_log_is_offline_and_not_synced_again() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    fill(log, 1)
    disk.sync_error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()
    disk.sync_error, syncs = None, disk.syncs
    assert log.failed is not None
    with pytest.raises(OSError, match="flush failed"):
        log.flush()
    for use in (lambda: log.append_as_leader(batch(), 1, WALL), lambda: log.read(0, 1, EVERYTHING, at_least_one=True)):
        with pytest.raises(BrokerError) as refused:
            use()
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.flushed_offset, disk.syncs) == (0, syncs)


def test_a_damaged_batch_does_not_verify() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    one = fill(log, 3)[0]
    disk.open(f"{DIRECTORY}/00000000000000000000.log").pwrite(b"\xff", len(one) + 100)
    assert [log.verify_at(offset) for offset in (0, 1, 2)] == [True, False, True]


# -- flushing beside everything else


def during_sync(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """`act` happens while the thread that flushes waits for the disk."""
    real = SimulatedFile.sync
    done: list[bool] = []

    def sync(file: SimulatedFile) -> None:
        real(file)
        if not done:
            done.append(True)
            act()

    monkeypatch.setattr(SimulatedFile, "sync", sync)


def test_what_is_appended_during_a_flush_is_not_counted_as_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 2)
    during_sync(monkeypatch, lambda: fill(log, 10))
    assert log.flush() == 2
    assert log.flush() == 12


def test_a_truncation_during_a_flush_leaves_no_flushed_offset_above_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 10)

    def truncate_and_go_on() -> None:
        log.truncate_to(4)
        fill(log, 8, epoch=2)

    during_sync(monkeypatch, truncate_and_go_on)
    assert log.flush() <= 4
    assert log.flush() == 12


def test_a_restart_during_a_flush_counts_nothing_old(monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 10)
    during_sync(monkeypatch, lambda: log.restart_at(3))
    assert log.flush() == 3


def test_retention_during_a_flush_does_not_disturb_it(monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(ForgetfulDisk(), retention_bytes=0)
    fill(log, 10)
    during_sync(monkeypatch, lambda: log.retire_segments(WALL, 10))
    assert log.flush() == 10


def test_a_flush_with_nothing_new_asks_nothing_of_the_disk() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    fill(log, 1)
    log.flush()
    before = disk.syncs
    assert log.flush() == 1
    assert disk.syncs == before


# -- cutting


def test_a_truncation_removes_the_batch_that_holds_the_offset() -> None:
    log = new_log(ForgetfulDisk())
    for _ in range(3):
        log.append_as_leader(batch(count=4, size=10), 1, WALL)
    log.truncate_to(6)
    assert (log.end_offset, len(contents(log))) == (4, 1)


def test_a_truncation_forgets_epochs_that_wrote_nothing_below_it() -> None:
    log = new_log(ForgetfulDisk())
    fill(log, 5, epoch=1)
    log.assign_epoch(3, 5)
    log.truncate_to(5)
    assert log.latest_epoch() == 1


def test_after_a_truncation_producers_may_send_again_what_was_cut() -> None:
    log = new_log(ForgetfulDisk())
    for sequence in range(8):
        log.append_as_leader(batch(producer=7, sequence=sequence), 1, WALL)
    log.truncate_to(5)
    assert log.append_as_leader(batch(producer=7, sequence=4), 1, WALL).base_offset == 4
    appended = log.append_as_leader(batch(producer=7, sequence=5), 1, WALL)
    assert (appended.duplicate, appended.base_offset) == (False, 5)


def test_a_restarted_log_is_empty_at_its_new_offset() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk)
    fill(log, 8)
    log.restart_at(100)
    assert (log.start_offset, log.end_offset, log.size, log.latest_epoch(), log.flushed_offset) == (100, 100, 0, -1, 100)
    assert files(disk, ".log") == ["00000000000000000100.log"]
    assert [parse_header(one).base_offset for one in fill(log, 2)] == [100, 101]


# -- retention


def test_segments_beyond_the_size_go_oldest_first_and_are_only_renamed() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk, retention_bytes=600)
    fill(log, 10)
    paths = log.retire_segments(WALL, 10)
    assert all(path.endswith(".deleted") and disk.exists(path) for path in paths)
    assert log.start_offset == 6
    assert files(disk, ".log") == ["00000000000000000006.log", "00000000000000000009.log"]


def test_segments_older_than_the_time_go() -> None:
    log = new_log(ForgetfulDisk(), retention_ms=1000)
    for timestamp in (1000, 1000, 1000, 5000, 5000, 5000, 5000):
        log.append_as_leader(batch(timestamp=timestamp), 1, WALL)
    log.retire_segments(5500, 7)
    assert log.start_offset == 3


def test_nothing_above_the_high_watermark_goes() -> None:
    log = new_log(ForgetfulDisk(), retention_bytes=0)
    fill(log, 10)
    log.retire_segments(WALL, 5)
    assert log.start_offset == 3


def test_where_everything_goes_an_empty_segment_stays() -> None:
    disk = ForgetfulDisk()
    log = new_log(disk, retention_ms=1000)
    fill(log, 10)
    log.retire_segments(10**9, 10)
    assert (log.start_offset, log.end_offset, log.size) == (10, 10, 0)
    assert files(disk, ".log") == ["00000000000000000010.log"]
    assert log.retire_segments(10**10, 10) == []


def test_a_raised_start_retires_what_lies_below_it_even_where_nothing_is_deleted_by_age() -> None:
    log = new_log(ForgetfulDisk(), cleanup_policy="compact", retention_ms=0)
    fill(log, 10)
    log.advance_start(4)
    log.retire_segments(10**9, 10)
    assert (log.start_offset, log.first_segment_offset) == (4, 3)


def test_producers_are_remembered_when_all_their_batches_were_retired() -> None:
    log = new_log(ForgetfulDisk(), retention_ms=1000)
    for sequence in range(4):
        log.append_as_leader(batch(producer=7, sequence=sequence), 1, WALL)
    log.retire_segments(10**9, 4)
    assert log.append_as_leader(batch(producer=7, sequence=3), 1, WALL).duplicate
