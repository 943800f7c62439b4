"""DescribeQuorum: the leader of the metadata log, its voters and observers, and how far each has come."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT16, INT32, INT64, STRING, UINT16, UUID, array, wire

KEY = 55
NAME = "DescribeQuorum"
MIN_VERSION = 0
MAX_VERSION = 2
FLEXIBLE_SINCE = 0


@dataclass(slots=True)
class DescribeQuorumPartition:
    partition_index: int = wire(INT32)


@dataclass(slots=True)
class DescribeQuorumTopic:
    topic_name: str = wire(STRING)
    partitions: list[DescribeQuorumPartition] = wire(array(DescribeQuorumPartition))


@dataclass(slots=True)
class DescribeQuorumRequest:
    topics: list[DescribeQuorumTopic] = wire(array(DescribeQuorumTopic))


@dataclass(slots=True)
class ReplicaState:
    replica_id: int = wire(INT32)
    replica_directory_id: bytes = wire(UUID, since=2)
    log_end_offset: int = wire(INT64)
    last_fetch_timestamp: int = wire(INT64, since=1, default=-1)
    last_caught_up_timestamp: int = wire(INT64, since=1, default=-1)


@dataclass(slots=True)
class DescribeQuorumPartitionResponse:
    partition_index: int = wire(INT32)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, since=2, nullable_since=2, default=None)
    leader_id: int = wire(INT32)
    leader_epoch: int = wire(INT32)
    high_watermark: int = wire(INT64)
    current_voters: list[ReplicaState] = wire(array(ReplicaState))
    observers: list[ReplicaState] = wire(array(ReplicaState))


@dataclass(slots=True)
class DescribeQuorumTopicResponse:
    topic_name: str = wire(STRING)
    partitions: list[DescribeQuorumPartitionResponse] = wire(array(DescribeQuorumPartitionResponse))


@dataclass(slots=True)
class Listener:
    name: str = wire(STRING)
    host: str = wire(STRING)
    port: int = wire(UINT16)


@dataclass(slots=True)
class Node:
    node_id: int = wire(INT32)
    listeners: list[Listener] = wire(array(Listener))


@dataclass(slots=True)
class DescribeQuorumResponse:
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, since=2, nullable_since=2, default=None)
    topics: list[DescribeQuorumTopicResponse] = wire(array(DescribeQuorumTopicResponse))
    nodes: list[Node] = wire(array(Node), since=2)
