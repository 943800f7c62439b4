"""Logs for tests: made, filled, reopened in one line each."""

import random
from dataclasses import replace

from broker_impl.machine.disk import Disk
from broker_impl.storage.batch import parse_header, place
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory
from broker_impl.storage.records import Record, build_batch

NAME = ("topic", 0)
TOPIC_ID = b"0123456789abcdef"
WALL = 10_000
EVERYTHING = 2**62
SMALL = LogConfig(segment_bytes=600, index_bytes=120, index_interval_bytes=100)


def open_directory(disk: Disk, path: str = "/data") -> LogDirectory:
    directory = LogDirectory(disk, path, random.Random(0))
    directory.open()
    return directory


def create(disk: Disk, config: LogConfig = SMALL, path: str = "/data") -> tuple[LogDirectory, Log]:
    directory = open_directory(disk, path)
    directory.load(lambda topic: config, WALL)
    return directory, directory.create(*NAME, TOPIC_ID, config)


def new_log(disk: Disk, **changes: object) -> Log:
    return create(disk, replace(SMALL, **changes))[1]  # type: ignore[arg-type]


def reload(disk: Disk, config: LogConfig = SMALL, path: str = "/data") -> tuple[LogDirectory, Log]:
    directory = open_directory(disk, path)
    return directory, directory.load(lambda topic: config, WALL)[NAME]


def stop_cleanly(directory: LogDirectory, log: Log) -> None:
    log.close()
    directory.checkpoint({NAME: log.end_offset})
    directory.mark_clean(1)
    directory.close()


def batch(
    size: int = 100, count: int = 1, timestamp: int = 1000, producer: int = -1, sequence: int = -1, attributes: int = 0
) -> memoryview:
    contents = [Record(bytes(size), timestamp=timestamp + index) for index in range(count)]
    built = build_batch(contents, producer_id=producer, producer_epoch=min(producer, 0), base_sequence=sequence, attributes=attributes)
    return memoryview(built)


def placed(offset: int, epoch: int, size: int = 100, count: int = 1) -> memoryview:
    """As a leader sends it to a follower."""
    built = batch(size, count)
    place(built, parse_header(built), offset, epoch)
    return built


def fill(log: Log, count: int, epoch: int = 1) -> list[bytes]:
    written = []
    for _ in range(count):
        one = batch()
        log.append_as_leader(one, epoch, WALL)
        written.append(bytes(one))
    return written


def contents(log: Log) -> list[bytes]:
    found, offset = [], log.start_offset
    while offset < log.end_offset:
        piece = log.read(offset, 1, EVERYTHING, at_least_one=True)
        assert piece.file is not None
        found.append(piece.file.pread(piece.size, piece.position))
        offset = parse_header(found[-1]).last_offset + 1
    return found
