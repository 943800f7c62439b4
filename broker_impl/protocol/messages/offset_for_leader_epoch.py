"""OffsetForLeaderEpoch: where a leader epoch ended, so that a replica or consumer finds where histories part."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT16, INT32, INT64, STRING, array, wire

KEY = 23
NAME = "OffsetForLeaderEpoch"
MIN_VERSION = 2
MAX_VERSION = 4
FLEXIBLE_SINCE = 4


@dataclass(slots=True)
class OffsetForLeaderPartition:
    partition: int = wire(INT32)
    current_leader_epoch: int = wire(INT32, default=-1)
    leader_epoch: int = wire(INT32)


@dataclass(slots=True)
class OffsetForLeaderTopic:
    topic: str = wire(STRING)
    partitions: list[OffsetForLeaderPartition] = wire(array(OffsetForLeaderPartition))


@dataclass(slots=True)
class OffsetForLeaderEpochRequest:
    replica_id: int = wire(INT32, since=3, default=-2)
    topics: list[OffsetForLeaderTopic] = wire(array(OffsetForLeaderTopic))


@dataclass(slots=True)
class EpochEndOffset:
    error_code: int = wire(INT16)
    partition: int = wire(INT32)
    leader_epoch: int = wire(INT32, default=-1)
    end_offset: int = wire(INT64, default=-1)


@dataclass(slots=True)
class OffsetForLeaderTopicResult:
    topic: str = wire(STRING)
    partitions: list[EpochEndOffset] = wire(array(EpochEndOffset))


@dataclass(slots=True)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: int = wire(INT32)
    topics: list[OffsetForLeaderTopicResult] = wire(array(OffsetForLeaderTopicResult))
