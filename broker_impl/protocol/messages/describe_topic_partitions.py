"""DescribeTopicPartitions: Metadata's answer in pages, with a cursor to go on from.

A null list of eligible leaders crashes Java's admin client, so the default here is an empty one.
"""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT16, INT32, STRING, UUID, array, wire

KEY = 75
NAME = "DescribeTopicPartitions"
MIN_VERSION = 0
MAX_VERSION = 0
FLEXIBLE_SINCE = 0

OPERATIONS_NOT_ASKED = -(1 << 31)


@dataclass(slots=True)
class Cursor:
    topic_name: str = wire(STRING)
    partition_index: int = wire(INT32)


@dataclass(slots=True)
class TopicRequest:
    name: str = wire(STRING)


@dataclass(slots=True)
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = wire(array(TopicRequest))
    response_partition_limit: int = wire(INT32, default=2000)
    cursor: Cursor | None = wire(Cursor, nullable_since=0, default=None)


@dataclass(slots=True)
class DescribeTopicPartitionsResponsePartition:
    error_code: int = wire(INT16)
    partition_index: int = wire(INT32)
    leader_id: int = wire(INT32)
    leader_epoch: int = wire(INT32, default=-1)
    replica_nodes: list[int] = wire(array(INT32))
    isr_nodes: list[int] = wire(array(INT32))
    eligible_leader_replicas: list[int] | None = wire(array(INT32), nullable_since=0)
    last_known_elr: list[int] | None = wire(array(INT32), nullable_since=0)
    offline_replicas: list[int] = wire(array(INT32))


@dataclass(slots=True)
class DescribeTopicPartitionsResponseTopic:
    error_code: int = wire(INT16)
    name: str | None = wire(STRING, nullable_since=0)
    topic_id: bytes = wire(UUID)
    is_internal: bool = wire(BOOL)
    partitions: list[DescribeTopicPartitionsResponsePartition] = wire(array(DescribeTopicPartitionsResponsePartition))
    topic_authorized_operations: int = wire(INT32, default=OPERATIONS_NOT_ASKED)


@dataclass(slots=True)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = wire(INT32)
    topics: list[DescribeTopicPartitionsResponseTopic] = wire(array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = wire(Cursor, nullable_since=0, default=None)
