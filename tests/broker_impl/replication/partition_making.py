"""Short ways to make a partition and its metadata, for unit tests of the machine."""

from broker_impl.replication.partition import Partition, PartitionSettings
from tests.broker_impl.replication.model_controller import State

LIVE = {1: 101, 2: 102, 3: 103}


def state(
    leader: int = 1,
    leader_epoch: int = 5,
    partition_epoch: int = 10,
    replicas: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] = (1, 2, 3),
) -> State:
    return State(leader, leader_epoch, partition_epoch, replicas, isr)


def partition(settings: PartitionSettings | None = None, *, log_end: int = 0, flushed_end: int = 0, high_watermark: int = 0) -> Partition:
    settings = settings or PartitionSettings(min_insync=2, lag_s=10.0)
    return Partition("t", 0, 1, settings, log_end=log_end, flushed_end=flushed_end, high_watermark=high_watermark)


def leader(
    isr: tuple[int, ...] = (1, 2, 3), *, min_insync: int = 2, log_end: int = 0, high_watermark: int = 0, flush_counts: bool = False
) -> Partition:
    """Broker 1 leading epoch 5 at time 0."""
    made = partition(PartitionSettings(min_insync, 10.0, flush_counts), log_end=log_end, high_watermark=high_watermark)
    made.become(state(isr=isr), log_end, 0.0)
    return made


def fetched(machine: Partition, replica: int, offset: int, now: float = 1.0) -> bool:
    """A fetch of the replica's present incarnation; whether the high watermark moved."""
    return machine.follower_fetched(replica, LIVE[replica], offset, now, LIVE).hw_moved
