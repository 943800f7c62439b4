"""ListOffsets: the offset at a point in time, or at either end of a partition."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT8, INT16, INT32, INT64, STRING, array, wire

KEY = 2
NAME = "ListOffsets"
MIN_VERSION = 1
MAX_VERSION = 7
FLEXIBLE_SINCE = 6

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3


@dataclass(slots=True)
class ListOffsetsPartition:
    partition_index: int = wire(INT32)
    current_leader_epoch: int = wire(INT32, since=4, default=-1)
    timestamp: int = wire(INT64)


@dataclass(slots=True)
class ListOffsetsTopic:
    name: str = wire(STRING)
    partitions: list[ListOffsetsPartition] = wire(array(ListOffsetsPartition))


@dataclass(slots=True)
class ListOffsetsRequest:
    replica_id: int = wire(INT32, default=-1)
    isolation_level: int = wire(INT8, since=2)
    topics: list[ListOffsetsTopic] = wire(array(ListOffsetsTopic))


@dataclass(slots=True)
class ListOffsetsPartitionResponse:
    partition_index: int = wire(INT32)
    error_code: int = wire(INT16)
    timestamp: int = wire(INT64, default=-1)
    offset: int = wire(INT64, default=-1)
    leader_epoch: int = wire(INT32, since=4, default=-1)


@dataclass(slots=True)
class ListOffsetsTopicResponse:
    name: str = wire(STRING)
    partitions: list[ListOffsetsPartitionResponse] = wire(array(ListOffsetsPartitionResponse))


@dataclass(slots=True)
class ListOffsetsResponse:
    throttle_time_ms: int = wire(INT32, since=2)
    topics: list[ListOffsetsTopicResponse] = wire(array(ListOffsetsTopicResponse))
