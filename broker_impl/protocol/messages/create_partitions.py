"""CreatePartitions: more partitions for a topic, counted or placed by hand."""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT16, INT32, STRING, array, wire

KEY = 37
NAME = "CreatePartitions"
MIN_VERSION = 0
MAX_VERSION = 3
FLEXIBLE_SINCE = 2


@dataclass(slots=True)
class CreatePartitionsAssignment:
    broker_ids: list[int] = wire(array(INT32))


@dataclass(slots=True)
class CreatePartitionsTopic:
    name: str = wire(STRING)
    count: int = wire(INT32)
    assignments: list[CreatePartitionsAssignment] | None = wire(array(CreatePartitionsAssignment), nullable_since=0)


@dataclass(slots=True)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = wire(array(CreatePartitionsTopic))
    timeout_ms: int = wire(INT32)
    validate_only: bool = wire(BOOL)


@dataclass(slots=True)
class CreatePartitionsTopicResult:
    name: str = wire(STRING)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)


@dataclass(slots=True)
class CreatePartitionsResponse:
    throttle_time_ms: int = wire(INT32)
    results: list[CreatePartitionsTopicResult] = wire(array(CreatePartitionsTopicResult))
