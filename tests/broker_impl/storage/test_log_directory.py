"""The folder of a broker: created, locked, remembered, found again."""

import random
from pathlib import Path

import pytest

from broker_impl.machine.disk import RealDisk
from broker_impl.storage.log_directory import DirectoryUnusable, LogDirectory
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.storage.logs import (
    NAME,
    SMALL,
    TOPIC_ID,
    WALL,
    batch,
    contents,
    create,
    fill,
    open_directory,
    reload,
    stop_cleanly,
)

FOLDER = "/data/topic-0"
SEGMENT = f"{FOLDER}/00000000000000000000"


def test_a_new_log_has_the_files_kafka_gives_it() -> None:
    disk = ForgetfulDisk()
    create(disk)
    assert {entry.name for entry in disk.list(FOLDER)} == {
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "partition.metadata",
    }
    assert disk.read(f"{FOLDER}/partition.metadata") == b"version: 0\ntopic_id: MDEyMzQ1Njc4OWFiY2RlZg\n"


def test_two_brokers_do_not_share_a_folder() -> None:
    disk = ForgetfulDisk()
    open_directory(disk)
    with pytest.raises(DirectoryUnusable, match="in use by another broker"):
        open_directory(disk)


def test_a_folder_that_cannot_be_made_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryUnusable, match=r"log\.dirs"):
        LogDirectory(RealDisk(), f"{tmp_path}/file/data", random.Random(0)).open()


def test_after_a_clean_stop_everything_is_as_it_was() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    written = fill(log, 7)
    log.advance_start(2)
    stop_cleanly(directory, log)
    directory, log = reload(disk)
    assert (directory.clean_epoch, directory.high_watermarks, directory.events) == (1, {NAME: 7}, [])
    assert (log.start_offset, log.end_offset, log.flushed_offset, log.latest_epoch()) == (2, 7, 7, 1)
    assert (log.topic, log.partition, log.topic_id) == (*NAME, TOPIC_ID)
    assert contents(log) == written[2:]


def test_the_ends_of_all_logs_are_told_by_the_epoch_of_the_last_batch() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    assert directory.log_ends() == [(TOPIC_ID, 0, -1, 0)]
    fill(log, 7)
    [(topic, part, epoch, end)] = directory.log_ends()
    assert (topic, part, epoch, end) == (TOPIC_ID, 0, log.latest_epoch(), log.end_offset) and end == 7
    log.truncate_to(0)
    assert directory.log_ends() == [(TOPIC_ID, 0, -1, 0)]


def test_the_marker_of_a_clean_stop_counts_once() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    stop_cleanly(directory, log)
    assert disk.read("/data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":1}'
    open_directory(disk).close()
    assert open_directory(disk).clean_epoch is None


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff"])
def test_a_marker_that_cannot_be_read_is_none(content: bytes) -> None:
    disk = ForgetfulDisk()
    disk.make_dirs("/data")
    disk.write_atomically("/data/.kafka_cleanshutdown", content)
    assert open_directory(disk).clean_epoch is None
    assert not disk.exists("/data/.kafka_cleanshutdown")


def test_loading_after_a_clean_stop_opens_no_log_that_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    stop_cleanly(directory, log)
    directory = open_directory(disk)

    def forbidden(*_arguments: object, **_named: object) -> object:
        raise AssertionError("a file was opened")

    monkeypatch.setattr(disk, "open", forbidden)
    monkeypatch.setattr(disk, "map", forbidden)
    assert NAME in directory.load(lambda topic: SMALL, WALL)


def test_all_five_batches_in_flight_may_be_retried_after_a_clean_stop() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    for sequence in range(9):
        log.append_as_leader(batch(producer=7, sequence=sequence), 1, WALL)
    stop_cleanly(directory, log)
    _directory, log = reload(disk)
    for sequence in range(4, 9):
        again = log.append_as_leader(batch(producer=7, sequence=sequence), 1, WALL)
        assert (again.duplicate, again.base_offset) == (True, sequence)


def test_a_clean_stop_does_not_touch_logs_that_nobody_used() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 5)
    stop_cleanly(directory, log)
    directory, log = reload(disk)
    before = disk.syncs
    log.close()
    assert disk.syncs == before


def test_a_deleted_partition_is_renamed_and_found_later_as_left_over() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 1)
    path = directory.delete(*NAME)
    assert path.startswith("/data/topic-0.") and path.endswith("-delete") and disk.exists(path)
    assert log.failed is not None
    directory.close()
    again = open_directory(disk)
    assert again.load(lambda topic: SMALL, WALL) == {}
    assert again.leftovers() == [path]
    assert again.leftovers() == []


def test_the_name_of_a_deleted_partition_fits_the_file_system() -> None:
    disk = ForgetfulDisk()
    directory = open_directory(disk)
    topic = "t" * 249
    directory.create(topic, 0, TOPIC_ID, SMALL)
    assert len(directory.delete(topic, 0).rpartition("/")[2]) == 255


def test_a_topic_may_be_created_again_under_its_old_name() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 3)
    directory.delete(*NAME)
    assert directory.create(*NAME, bytes(range(16)), SMALL).end_offset == 0


def test_files_meant_to_be_removed_are_left_over_and_not_loaded() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 10)
    log.config = SMALL.__class__(retention_bytes=0)
    paths = log.retire_segments(WALL, 10)
    disk.kill()
    directory, log = reload(disk)
    assert log.start_offset == 10
    assert sorted(directory.leftovers()) == sorted(paths)


def test_a_creation_on_a_full_disk_leaves_nothing_behind() -> None:
    for room in range(0, 40, 10):
        disk = ForgetfulDisk()
        directory = open_directory(disk)
        disk.room = room
        with pytest.raises(OSError, match="No space"):
            directory.create(*NAME, TOPIC_ID, SMALL)
        assert not disk.exists(FOLDER)


def test_a_creation_that_was_interrupted_is_cleared_away() -> None:
    disk = ForgetfulDisk()
    open_directory(disk).close()
    disk.make_dirs(FOLDER)
    directory = open_directory(disk)
    assert directory.load(lambda topic: SMALL, WALL) == {}
    assert not disk.exists(FOLDER)
    assert len(directory.leftovers()) == 1


def test_other_folders_are_left_alone() -> None:
    disk = ForgetfulDisk()
    open_directory(disk).close()
    disk.make_dirs("/data/metadata")
    disk.make_dirs("/data/lost+found")
    assert open_directory(disk).load(lambda topic: SMALL, WALL) == {}
    assert disk.exists("/data/metadata")


def test_a_log_that_nobody_uses_yet_keeps_its_high_watermark() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 5)
    directory.checkpoint({NAME: 4})
    disk.kill()
    directory, log = reload(disk)
    directory.checkpoint({})
    disk.kill()
    assert open_directory(disk).high_watermarks == {NAME: 4}


def test_a_log_that_is_gone_has_no_high_watermark() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 5)
    directory.checkpoint({NAME: 4})
    disk.kill()
    directory, log = reload(disk)
    directory.delete(*NAME)
    directory.create(*NAME, bytes(range(16)), SMALL)
    directory.checkpoint({})
    assert disk.read("/data/replication-offset-checkpoint") == b"0\n0\n"


def test_checkpoints_are_texts_of_kafkas_form() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    fill(log, 5)
    log.flush()
    log.advance_start(2)
    directory.checkpoint({NAME: 4})
    assert disk.read("/data/replication-offset-checkpoint") == b"0\n1\ntopic 0 4\n"
    assert disk.read("/data/recovery-point-offset-checkpoint") == b"0\n1\ntopic 0 5\n"
    assert disk.read("/data/log-start-offset-checkpoint") == b"0\n1\ntopic 0 2\n"


def test_a_checkpoint_that_cannot_be_read_is_reported_and_everything_is_looked_at() -> None:
    disk = ForgetfulDisk()
    directory, log = create(disk)
    written = fill(log, 7)
    log.flush()
    directory.checkpoint({})
    disk.kill()
    disk.write_atomically("/data/recovery-point-offset-checkpoint", b"0\n5\n")
    directory, log = reload(disk)
    assert [event["event"] for event in directory.events] == ["checkpoint-unreadable", "log-recovered"]
    assert contents(log) == written
