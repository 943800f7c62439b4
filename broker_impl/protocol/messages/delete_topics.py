"""DeleteTopics, by name, or from version 6 by name or id."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT16, INT32, STRING, UUID, array, wire

KEY = 20
NAME = "DeleteTopics"
MIN_VERSION = 1
MAX_VERSION = 6
FLEXIBLE_SINCE = 4


@dataclass(slots=True)
class DeleteTopicState:
    name: str | None = wire(STRING, nullable_since=6, default=None)
    topic_id: bytes = wire(UUID)


@dataclass(slots=True)
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = wire(array(DeleteTopicState), since=6)
    topic_names: list[str] = wire(array(STRING), until=5)
    timeout_ms: int = wire(INT32)


@dataclass(slots=True)
class DeletableTopicResult:
    name: str | None = wire(STRING, nullable_since=6)
    topic_id: bytes = wire(UUID, since=6)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, since=5, nullable_since=5, default=None)


@dataclass(slots=True)
class DeleteTopicsResponse:
    throttle_time_ms: int = wire(INT32, since=1)
    responses: list[DeletableTopicResult] = wire(array(DeletableTopicResult))
