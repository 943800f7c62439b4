"""A log that is flushed, cut and retired, on a disk that may be full or broken; one promise a test."""

import errno
from collections.abc import Callable

import pytest

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import parse_header
from tests.broker_impl.forgetful_disk import ForgetfulDisk, SimulatedFile
from tests.broker_impl.storage.logs import EVERYTHING, WALL, batch, contents, fill, new_log

DIRECTORY = "/data/topic-0"


def files(disk: ForgetfulDisk, suffix: str) -> list[str]:
    return [entry.name for entry in disk.list(DIRECTORY) if entry.name.endswith(suffix)]


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
