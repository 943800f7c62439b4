"""FindCoordinator: the broker that coordinates a group or a transactional id; many at once from version 4."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT8, INT16, INT32, STRING, array, wire

KEY = 10
NAME = "FindCoordinator"
MIN_VERSION = 0
MAX_VERSION = 4
FLEXIBLE_SINCE = 3

GROUP = 0
TRANSACTION = 1


@dataclass(slots=True)
class FindCoordinatorRequest:
    key: str = wire(STRING, until=3)
    key_type: int = wire(INT8, since=1)
    coordinator_keys: list[str] = wire(array(STRING), since=4)


@dataclass(slots=True)
class Coordinator:
    key: str = wire(STRING)
    node_id: int = wire(INT32)
    host: str = wire(STRING)
    port: int = wire(INT32)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=4, default=None)


@dataclass(slots=True)
class FindCoordinatorResponse:
    throttle_time_ms: int = wire(INT32, since=1)
    error_code: int = wire(INT16, until=3)
    error_message: str | None = wire(STRING, since=1, until=3, nullable_since=1, default=None)
    node_id: int = wire(INT32, until=3)
    host: str = wire(STRING, until=3)
    port: int = wire(INT32, until=3)
    coordinators: list[Coordinator] = wire(array(Coordinator), since=4)
