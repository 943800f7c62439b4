"""Replicas on a disk in memory, for tests of what stands around them."""

import random

from broker_impl.quorum.image import PartitionImage
from broker_impl.replication.partition import Partition, PartitionSettings
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import LogConfig
from broker_impl.storage.log_directory import LogDirectory
from broker_impl.storage.records import Record, build_batch
from tests.broker_impl.forgetful_disk import ForgetfulDisk

TOPIC_ID = bytes(range(16))
ME = 1
LEADER = 2


def make_directory(disk: ForgetfulDisk | None = None) -> LogDirectory:
    directory = LogDirectory(disk or ForgetfulDisk(), "/data", random.Random(1))
    directory.open()
    directory.load(lambda _topic: LogConfig(), 0)
    return directory


def make_replica(directory: LogDirectory, index: int = 0, config: LogConfig | None = None) -> Replica:
    log = directory.create("t", index, TOPIC_ID, config or LogConfig())
    settings = PartitionSettings(min_insync=1, lag_s=10.0, flush_counts=log.config.flush_messages == 1)
    return Replica(log, Partition("t", index, ME, settings, log_end=0, flushed_end=0, high_watermark=0))


def become_follower(replica: Replica, leader_epoch: int, leader: int = LEADER) -> None:
    image = PartitionImage(replica.index, (leader, ME), (leader, ME), leader, leader_epoch, leader_epoch)
    replica.state.become(image, replica.log.end_offset, 0.0)


def become_leader(replica: Replica, leader_epoch: int) -> None:
    image = PartitionImage(replica.index, (ME,), (ME,), ME, leader_epoch, leader_epoch)
    replica.state.become(image, replica.log.end_offset, 0.0)
    replica.log.assign_epoch(leader_epoch, replica.log.end_offset)


def batch(value: bytes, base_offset: int = 0, leader_epoch: int = 0) -> memoryview:
    return memoryview(build_batch([Record(value)], base_offset=base_offset, leader_epoch=leader_epoch))
