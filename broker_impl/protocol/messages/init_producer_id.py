"""InitProducerId: an id and epoch for an idempotent or transactional producer."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT16, INT32, INT64, STRING, wire

KEY = 22
NAME = "InitProducerId"
MIN_VERSION = 0
MAX_VERSION = 4
FLEXIBLE_SINCE = 2


@dataclass(slots=True)
class InitProducerIdRequest:
    transactional_id: str | None = wire(STRING, nullable_since=0, default=None)
    transaction_timeout_ms: int = wire(INT32)
    producer_id: int = wire(INT64, since=3, default=-1)
    producer_epoch: int = wire(INT16, since=3, default=-1)


@dataclass(slots=True)
class InitProducerIdResponse:
    throttle_time_ms: int = wire(INT32)
    error_code: int = wire(INT16)
    producer_id: int = wire(INT64, default=-1)
    producer_epoch: int = wire(INT16, default=-1)
