"""Recovery: what is believed, what is looked at, where a log is cut."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from broker_impl.storage.log import Log
from broker_impl.storage.log_directory import LogDirectory
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.storage.logs import NAME, SMALL, batch, contents, create, fill, placed, reload, stop_cleanly

FOLDER = "/data/topic-0"
FIRST, SECOND, THIRD = (f"{FOLDER}/{base:020d}" for base in (0, 3, 6))


@pytest.fixture
def disk() -> ForgetfulDisk:
    return ForgetfulDisk()


def killed(disk: ForgetfulDisk, prepare: Callable[[LogDirectory, Log], object] | None = None, count: int = 8) -> list[bytes]:
    """A log of three segments (0-2, 3-5, 6-7) whose broker was killed; what it had written."""
    directory, log = create(disk)
    written = fill(log, count)
    if prepare is not None:
        prepare(directory, log)
    disk.kill()
    return written


def flushed(directory: LogDirectory, log: Log) -> None:
    log.flush()
    directory.checkpoint({NAME: log.end_offset})


def events(directory: LogDirectory) -> list[object]:
    return [event["event"] for event in directory.events]


def test_after_a_kill_nothing_is_lost(disk: ForgetfulDisk) -> None:
    written = killed(disk)
    directory, log = reload(disk)
    assert contents(log) == written
    assert directory.events == [
        {"event": "log-recovered", "topic": "topic", "part": 0, "start": 0, "end": 8, "cut_bytes": 0, "why": ""},
    ]


def test_indexes_are_built_anew_from_what_was_found(disk: ForgetfulDisk) -> None:
    killed(disk)
    expected = disk.read(SECOND + ".index"), disk.read(SECOND + ".timeindex")
    for suffix in (".index", ".timeindex"):
        disk.open(SECOND + suffix).pwrite(b"\xff" * 8, 0)
    disk.unlink(FIRST + ".index")
    reload(disk)
    assert (disk.read(SECOND + ".index"), disk.read(SECOND + ".timeindex")) == expected
    assert len(disk.read(FIRST + ".index")) == 16


@pytest.mark.parametrize("size", [0, 1, 60, 61, 100])
def test_a_torn_batch_is_cut_off(disk: ForgetfulDisk, size: int) -> None:
    written = killed(disk)
    disk.open(THIRD + ".log").truncate(len(written[0]) + size)
    _directory, log = reload(disk)
    assert (log.end_offset, contents(log)) == (7, written[:7])


def test_zeros_behind_the_last_batch_are_cut_off(disk: ForgetfulDisk) -> None:
    written = killed(disk)
    disk.open(THIRD + ".log").truncate(5000)
    _directory, log = reload(disk)
    assert contents(log) == written
    assert len(disk.read(THIRD + ".log")) == 2 * len(written[0])


def test_later_segments_go_with_a_damaged_batch(disk: ForgetfulDisk) -> None:
    written = killed(disk)
    disk.open(SECOND + ".log").pwrite(b"\xff", len(written[0]) + 90)
    directory, log = reload(disk)
    assert contents(log) == written[:4]
    assert not disk.exists(THIRD + ".log")
    assert directory.events[0]["why"] == "checksum at offset 4"


def test_a_batch_that_verifies_but_is_not_the_next_is_cut_off(disk: ForgetfulDisk) -> None:
    written = killed(disk)
    disk.open(THIRD + ".log").pwrite(placed(42, 1), len(written[0]))
    _directory, log = reload(disk)
    assert contents(log) == written[:7]


def test_a_batch_of_an_older_epoch_is_cut_off(disk: ForgetfulDisk) -> None:
    written = killed(disk, lambda _directory, log: log.append_as_leader(batch(), 5, 0))
    disk.open(THIRD + ".log").pwrite(placed(9, 2), 3 * len(written[0]))
    directory, log = reload(disk)
    assert (log.end_offset, log.latest_epoch()) == (9, 5)
    assert directory.events[0]["why"] == "epoch 2 behind 5 at offset 9"


def test_segments_below_the_recovery_point_are_not_read(disk: ForgetfulDisk) -> None:
    killed(disk, flushed)
    disk.open(FIRST + ".log").pwrite(b"\xff", 100)
    directory, log = reload(disk)
    assert log.end_offset == 8
    assert directory.events[0]["start"] == 6
    assert not log.verify_at(0)


def test_an_index_below_the_recovery_point_that_is_missing_or_makes_no_sense_is_built_anew(disk: ForgetfulDisk) -> None:
    written = killed(disk, flushed)
    disk.unlink(FIRST + ".index")
    disk.open(SECOND + ".timeindex").truncate(7)
    _directory, log = reload(disk)
    assert len(disk.read(FIRST + ".index")) == 16
    assert len(disk.read(SECOND + ".timeindex")) == 12
    assert contents(log) == written


def test_a_segment_that_ends_at_the_recovery_point_is_looked_at(disk: ForgetfulDisk) -> None:
    def flush_then_roll(directory: LogDirectory, log: Log) -> None:
        flushed(directory, log)
        fill(log, 1)

    killed(disk, flush_then_roll, count=6)
    directory, _log = reload(disk)
    assert directory.events[0]["start"] == 3


def test_a_cut_below_the_high_watermark_is_reported_as_loss(disk: ForgetfulDisk) -> None:
    written = killed(disk, flushed)
    disk.open(THIRD + ".log").truncate(len(written[0]))
    directory, log = reload(disk)
    assert directory.events[-1] == {"event": "committed-data-lost", "topic": "topic", "part": 0, "high_watermark": 8, "end": 7}
    assert log.flushed_offset == 7


def test_a_cut_above_the_high_watermark_is_no_loss(disk: ForgetfulDisk) -> None:
    written = killed(disk, lambda directory, log: directory.checkpoint({NAME: 7}))
    disk.open(THIRD + ".log").truncate(len(written[0]))
    directory, _log = reload(disk)
    assert events(directory) == ["log-recovered"]


def test_what_was_recovered_is_flushed_only_after_a_flush(disk: ForgetfulDisk) -> None:
    killed(disk)
    _directory, log = reload(disk)
    assert log.flushed_offset == 0
    assert log.flush() == 8


def test_epochs_are_learned_from_the_batches_where_their_file_is_lost(disk: ForgetfulDisk) -> None:
    def write_in_another_epoch(directory: LogDirectory, log: Log) -> None:
        fill(log, 3, epoch=4)
        flushed(directory, log)

    killed(disk, write_in_another_epoch)
    disk.unlink(f"{FOLDER}/leader-epoch-checkpoint")
    _directory, log = reload(disk)
    assert (log.end_offset_for_epoch(1), log.end_offset_for_epoch(4)) == ((1, 8), (4, 11))


def test_after_a_clean_stop_a_tail_that_does_not_add_up_is_recovered_all_the_same(disk: ForgetfulDisk) -> None:
    directory, log = create(disk)
    written = fill(log, 8)
    stop_cleanly(directory, log)
    disk.open(THIRD + ".log").truncate(2 * len(written[0]) - 5)
    directory, log = reload(disk)
    assert contents(log) == written[:7]
    assert events(directory) == ["log-recovered", "committed-data-lost"]


def test_producers_are_those_of_the_batches_left(disk: ForgetfulDisk) -> None:
    _directory, log = create(disk)
    for sequence in range(8):
        log.append_as_leader(batch(producer=7, sequence=sequence), 1, 0)
    size = log.size // 8
    disk.kill()
    disk.open(THIRD + ".log").truncate(size + 5)
    _directory, log = reload(disk)
    assert log.append_as_leader(batch(producer=7, sequence=2), 1, 0).duplicate
    assert log.append_as_leader(batch(producer=7, sequence=7), 1, 0).base_offset == 7


def test_producers_are_remembered_when_their_batches_are_retired_after_a_recovery(disk: ForgetfulDisk) -> None:
    def write(_directory: LogDirectory, log: Log) -> None:
        log.append_as_leader(batch(producer=7, sequence=0), 1, 0)
        fill(log, 8)

    killed(disk, write, count=0)
    _directory, log = reload(disk)
    log.config = replace(SMALL, retention_bytes=0)
    log.retire_segments(0, 6)
    assert log.start_offset == 6
    assert log.append_as_leader(batch(producer=7, sequence=0), 1, 0).duplicate


def test_epochs_below_a_start_that_was_not_written_down_are_still_known(disk: ForgetfulDisk) -> None:
    def write(directory: LogDirectory, log: Log) -> None:
        fill(log, 8, epoch=2)
        flushed(directory, log)
        log.advance_start(16)

    killed(disk, write)
    _directory, log = reload(disk)
    assert (log.start_offset, log.end_offset_for_epoch(1)) == (0, (1, 8))


def test_a_start_offset_above_all_that_is_left_empties_the_log(disk: ForgetfulDisk) -> None:
    def raise_start(directory: LogDirectory, log: Log) -> None:
        log.advance_start(8)
        directory.checkpoint({NAME: 8})

    killed(disk, raise_start)
    disk.open(THIRD + ".log").truncate(0)
    _directory, log = reload(disk)
    assert (log.start_offset, log.end_offset, log.size) == (8, 8, 0)


def test_recovery_on_a_full_disk_works(disk: ForgetfulDisk) -> None:
    written = killed(disk)
    disk.room = 0
    _directory, log = reload(disk)
    assert contents(log) == written
