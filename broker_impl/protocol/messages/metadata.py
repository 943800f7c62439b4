"""Metadata: brokers, topics, and who leads which partition.

A null list of topics asks for all of them (version 0, which has no null: an empty one); an empty list for none.
"""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT16, INT32, STRING, UUID, array, wire

KEY = 3
NAME = "Metadata"
MIN_VERSION = 0
MAX_VERSION = 13
FLEXIBLE_SINCE = 9

OPERATIONS_NOT_ASKED = -(1 << 31)


@dataclass(slots=True)
class MetadataRequestTopic:
    topic_id: bytes = wire(UUID, since=10)
    name: str | None = wire(STRING, nullable_since=10)


@dataclass(slots=True)
class MetadataRequest:
    topics: list[MetadataRequestTopic] | None = wire(array(MetadataRequestTopic), nullable_since=1)
    allow_auto_topic_creation: bool = wire(BOOL, since=4, default=True)
    include_cluster_authorized_operations: bool = wire(BOOL, since=8, until=10)
    include_topic_authorized_operations: bool = wire(BOOL, since=8)


@dataclass(slots=True)
class MetadataResponseBroker:
    node_id: int = wire(INT32)
    host: str = wire(STRING)
    port: int = wire(INT32)
    rack: str | None = wire(STRING, since=1, nullable_since=1, default=None)


@dataclass(slots=True)
class MetadataResponsePartition:
    error_code: int = wire(INT16)
    partition_index: int = wire(INT32)
    leader_id: int = wire(INT32)
    leader_epoch: int = wire(INT32, since=7, default=-1)
    replica_nodes: list[int] = wire(array(INT32))
    isr_nodes: list[int] = wire(array(INT32))
    offline_replicas: list[int] = wire(array(INT32), since=5)


@dataclass(slots=True)
class MetadataResponseTopic:
    error_code: int = wire(INT16)
    name: str | None = wire(STRING, nullable_since=12)
    topic_id: bytes = wire(UUID, since=10)
    is_internal: bool = wire(BOOL, since=1)
    partitions: list[MetadataResponsePartition] = wire(array(MetadataResponsePartition))
    topic_authorized_operations: int = wire(INT32, since=8, default=OPERATIONS_NOT_ASKED)


@dataclass(slots=True)
class MetadataResponse:
    throttle_time_ms: int = wire(INT32, since=3)
    brokers: list[MetadataResponseBroker] = wire(array(MetadataResponseBroker))
    cluster_id: str | None = wire(STRING, since=2, nullable_since=2, default=None)
    controller_id: int = wire(INT32, since=1, default=-1)
    topics: list[MetadataResponseTopic] = wire(array(MetadataResponseTopic))
    cluster_authorized_operations: int = wire(INT32, since=8, until=10, default=OPERATIONS_NOT_ASKED)
    error_code: int = wire(INT16, since=13)
