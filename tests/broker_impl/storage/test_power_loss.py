"""Power loss at any moment: what was flushed is there afterwards, and what is there is a sound log."""

import random
from dataclasses import replace

import pytest

from broker_impl.storage.batch import parse_header
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory
from broker_impl.storage.records import Record, build_batch
from tests.broker_impl.forgetful_disk import ForgetfulDisk

NAME = ("topic", 0)
CONFIG = LogConfig(segment_bytes=600, index_bytes=96, index_interval_bytes=100, flush_messages=1)


def test_nothing_flushed_is_lost() -> None:
    for seed in range(120):
        flushed, found = _run_until_power_loss(seed, sync_works=True)
        assert found[: len(flushed)] == flushed, f"seed {seed}"


def test_without_a_working_sync_flushed_batches_are_lost() -> None:
    """The twin: it shows that the test above could fail."""
    outcomes = [_run_until_power_loss(seed, sync_works=False) for seed in range(20)]
    assert any(found[: len(flushed)] != flushed for flushed, found in outcomes)


def test_what_survives_is_a_prefix_of_what_was_written_and_can_be_continued() -> None:
    for seed in range(120):
        rng = random.Random(seed)
        disk = ForgetfulDisk()
        directory, log = _create(disk)
        written = []
        for _step in range(rng.randint(1, 40)):
            written.append(_append(log, rng))
            if rng.random() < 0.2:
                log.flush()
            if rng.random() < 0.1:
                directory.checkpoint({NAME: log.end_offset})
        disk.crash(rng)
        log = _reopen(disk)
        assert _contents(log) == written[: len(_contents(log))], f"seed {seed}"
        _append(log, rng)
        assert log.flush() == log.end_offset


def test_after_a_truncation_old_batches_never_come_back_below_new_flushed_ones() -> None:
    for seed in range(120):
        rng = random.Random(seed)
        disk = ForgetfulDisk()
        directory, log = _create(disk)
        for _ in range(rng.randint(5, 30)):
            _append(log, rng)
        log.flush()
        directory.checkpoint({NAME: 0})
        log.truncate_to(rng.randint(0, log.end_offset))
        kept = _contents(log)
        for _ in range(rng.randint(0, 25)):
            kept.append(_append(log, rng, epoch=2))
        flushed = []
        if rng.random() < 0.5:
            log.flush()
            flushed = list(kept)
        disk.crash(rng)
        log = _reopen(disk)
        found = _contents(log)
        assert found[: len(flushed)] == flushed, f"seed {seed}"
        epochs = [parse_header(batch).leader_epoch for batch in found]
        assert epochs == sorted(epochs)
        for epoch in set(epochs):
            last = max(parse_header(batch).last_offset for batch in found if parse_header(batch).leader_epoch == epoch)
            assert log.end_offset_for_epoch(epoch) == (epoch, last + 1), f"seed {seed}"


def test_producer_states_are_those_of_the_batches_that_survived() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        disk = ForgetfulDisk()
        directory, log = _create(disk)
        for sequence in range(rng.randint(1, 30)):
            log.append_as_leader(memoryview(_batch(rng, producer=5, sequence=sequence)), 1, 0)
            if rng.random() < 0.2:
                log.flush()
                directory.checkpoint({})
        disk.crash(rng)
        log = _reopen(disk)
        if not log.end_offset:
            continue
        last = parse_header(_contents(log)[-1])
        retried = log.append_as_leader(memoryview(_batch(rng, producer=5, sequence=last.base_sequence)), 1, 0)
        assert (retried.duplicate, retried.base_offset) == (True, last.base_offset), f"seed {seed}"
        assert not log.append_as_leader(memoryview(_batch(rng, producer=5, sequence=last.base_sequence + 1)), 1, 0).duplicate


def test_a_clean_stop_survives_a_power_loss_right_after_it() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        disk = ForgetfulDisk()
        directory, log = _create(disk)
        written = [_append(log, rng) for _ in range(rng.randint(1, 30))]
        log.close()
        directory.checkpoint({NAME: log.end_offset})
        directory.mark_clean(4)
        disk.crash(rng)
        directory = LogDirectory(disk, "/data", rng)
        directory.open()
        assert directory.clean_epoch == 4
        log = directory.load(lambda topic: CONFIG, 0)[NAME]
        assert directory.events == []
        assert _contents(log) == written


@pytest.mark.parametrize("sync_works", [True, False])
def test_the_marker_of_a_clean_stop_is_gone_for_good_once_the_folder_was_opened(sync_works: bool) -> None:
    disk = ForgetfulDisk(sync_works=sync_works)
    directory, log = _create(disk)
    log.close()
    directory.checkpoint({})
    directory.mark_clean(4)
    directory.close()
    LogDirectory(disk, "/data", random.Random(0)).open()
    for seed in range(20):
        disk.crash(random.Random(seed))
        again = LogDirectory(disk, "/data", random.Random(0))
        again.open()
        assert again.clean_epoch is None


def _run_until_power_loss(seed: int, *, sync_works: bool) -> tuple[list[bytes], list[bytes]]:
    """With a flush after every append, as flush.messages=1 has it; (flushed, found afterwards)."""
    rng = random.Random(seed)
    disk = ForgetfulDisk(sync_works=sync_works)
    directory, log = _create(disk)
    flushed = []
    for _step in range(rng.randint(1, 60)):
        flushed.append(_append(log, rng))
        assert log.flush() == log.end_offset
        if rng.random() < 0.1:
            directory.checkpoint({NAME: log.end_offset})
    _append(log, rng)
    disk.crash(rng)
    logs = _load(disk)
    return flushed, _contents(logs[NAME]) if NAME in logs else []


def _create(disk: ForgetfulDisk) -> tuple[LogDirectory, Log]:
    directory = LogDirectory(disk, "/data", random.Random(0))
    directory.open()
    directory.load(lambda topic: CONFIG, 0)
    disk.sync_dir("/")
    return directory, directory.create(*NAME, b"0123456789abcdef", CONFIG)


def _load(disk: ForgetfulDisk) -> dict[tuple[str, int], Log]:
    directory = LogDirectory(disk, "/data", random.Random(0))
    directory.open()
    return directory.load(lambda topic: CONFIG, 0)


def _reopen(disk: ForgetfulDisk) -> Log:
    """A log of which nothing was synced may be gone with its folder; then it is created again, as at any start."""
    directory = LogDirectory(disk, "/data", random.Random(0))
    directory.open()
    logs = directory.load(lambda topic: CONFIG, 0)
    return logs.get(NAME) or directory.create(*NAME, b"0123456789abcdef", CONFIG)


def _batch(rng: random.Random, *, producer: int = -1, sequence: int = -1) -> bytearray:
    contents = [Record(rng.randbytes(rng.randint(0, 150)), timestamp=rng.randint(0, 1000))]
    return build_batch(contents, producer_id=producer, producer_epoch=min(producer, 0), base_sequence=sequence)


def _append(log: Log, rng: random.Random, epoch: int = 1) -> bytes:
    batch = _batch(rng)
    log.append_as_leader(memoryview(batch), epoch, 0)
    return bytes(batch)


def _contents(log: Log) -> list[bytes]:
    found, offset = [], log.start_offset
    while offset < log.end_offset:
        piece = log.read(offset, 1, log.end_offset, at_least_one=True)
        assert piece.file is not None
        found.append(piece.file.pread(piece.size, piece.position))
        offset = parse_header(found[-1]).last_offset + 1
    return found


def test_whatever_was_done_before_what_was_flushed_is_there_and_the_log_is_sound() -> None:
    for seed in range(150):
        _walk_into_power_loss(seed)


def _walk_into_power_loss(seed: int) -> None:
    """`safe`: what was flushed and not cut away or retired since, by offset."""
    rng = random.Random(seed)
    disk = ForgetfulDisk()
    directory, log = _create(disk)
    safe: dict[int, bytes] = {}
    epoch = 1
    for _step in range(rng.randint(5, 80)):
        match rng.choices(("append", "flush", "checkpoint", "truncate", "retire", "kill", "stop"), (60, 12, 6, 4, 4, 3, 2))[0]:
            case "append":
                _append(log, rng, epoch)
            case "flush":
                log.flush()
                safe = {parse_header(batch).base_offset: batch for batch in _contents(log)}
            case "checkpoint":
                directory.checkpoint({NAME: log.end_offset})
            case "truncate":
                log.truncate_to(rng.randint(log.start_offset, log.end_offset))
                epoch += 1
            case "retire":
                log.config = replace(CONFIG, retention_bytes=rng.randint(0, 2000))
                log.retire_segments(0, log.end_offset)
            case "kill" | "stop" as how:
                if how == "stop":
                    log.close()
                    directory.checkpoint({NAME: log.end_offset})
                    directory.mark_clean(1)
                disk.kill()
                directory = LogDirectory(disk, "/data", random.Random(0))
                directory.open()
                log = directory.load(lambda topic: CONFIG, 0)[NAME]
        safe = {offset: batch for offset, batch in safe.items() if log.start_offset <= offset < log.end_offset}
    disk.crash(rng)
    log = _reopen(disk)
    _check_sound(log, safe, seed)
    _append(log, rng, epoch + 1)
    assert log.flush() == log.end_offset


def _check_sound(log: Log, safe: dict[int, bytes], seed: int) -> None:
    found = {parse_header(batch).base_offset: batch for batch in _contents(log)}
    assert safe.items() <= found.items(), f"seed {seed}"
    epochs = [parse_header(batch).leader_epoch for batch in found.values()]
    assert epochs == sorted(epochs), f"seed {seed}"
    assert list(found) == list(range(log.start_offset, log.end_offset)), f"seed {seed}"
    for epoch in set(epochs):
        last = max(offset for offset, batch in found.items() if parse_header(batch).leader_epoch == epoch)
        assert log.end_offset_for_epoch(epoch) == (epoch, last + 1), f"seed {seed}"
    assert all(log.verify_at(offset) for offset in found)
