"""CreateTopics, with partitions counted or placed by hand.

From version 5 the answer carries the topic's settings. A null list of them crashes Java's admin client: send an
empty one, or set `topic_config_error_code` and a partition count of -1.
"""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT8, INT16, INT32, STRING, UUID, array, wire

KEY = 19
NAME = "CreateTopics"
MIN_VERSION = 2
MAX_VERSION = 7
FLEXIBLE_SINCE = 5


@dataclass(slots=True)
class CreatableReplicaAssignment:
    partition_index: int = wire(INT32)
    broker_ids: list[int] = wire(array(INT32))


@dataclass(slots=True)
class CreatableTopicConfig:
    name: str = wire(STRING)
    value: str | None = wire(STRING, nullable_since=0)


@dataclass(slots=True)
class CreatableTopic:
    name: str = wire(STRING)
    num_partitions: int = wire(INT32)
    replication_factor: int = wire(INT16)
    assignments: list[CreatableReplicaAssignment] = wire(array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = wire(array(CreatableTopicConfig))


@dataclass(slots=True)
class CreateTopicsRequest:
    topics: list[CreatableTopic] = wire(array(CreatableTopic))
    timeout_ms: int = wire(INT32, default=60_000)
    validate_only: bool = wire(BOOL)


@dataclass(slots=True)
class CreatableTopicConfigs:
    name: str = wire(STRING)
    value: str | None = wire(STRING, nullable_since=0)
    read_only: bool = wire(BOOL)
    config_source: int = wire(INT8, default=-1)
    is_sensitive: bool = wire(BOOL)


@dataclass(slots=True)
class CreatableTopicResult:
    name: str = wire(STRING)
    topic_id: bytes = wire(UUID, since=7)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)
    topic_config_error_code: int = wire(INT16, tag=(0, 5))
    num_partitions: int = wire(INT32, since=5, default=-1)
    replication_factor: int = wire(INT16, since=5, default=-1)
    configs: list[CreatableTopicConfigs] | None = wire(array(CreatableTopicConfigs), since=5, nullable_since=5)


@dataclass(slots=True)
class CreateTopicsResponse:
    throttle_time_ms: int = wire(INT32)
    topics: list[CreatableTopicResult] = wire(array(CreatableTopicResult))
