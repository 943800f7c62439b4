"""One log: what each operation promises, one promise a test. The stateful test has the combinations."""

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
