"""Real clients: what librdkafka is told, from the few settings a scenario has.

Time-outs are short and reconnects quick, so that faults of seconds matter. Consumers verify CRCs (librdkafka does not by itself), never
jump to another offset on their own, and commit nothing: where they stand is known from what was recorded, or they stop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, Producer

Acks = Literal["0", "1", "all"]

QUEUE_MESSAGES = 100_000
QUEUE_KBYTES = 65_536
FETCH_WAIT_MS = 100
_LARGEST_MESSAGE = 1_048_576

_SILENT = logging.getLogger("workloads.librdkafka")
_SILENT.setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Names and defaults are a scenario's."""

    acks: Acks = "all"
    idempotence: bool = True
    in_flight: int = 5
    linger_ms: float = 5.0
    batch_bytes: int = 65_536
    compression: str = "none"
    retries: int = 2_147_483_647
    request_timeout_ms: int = 3_000
    delivery_timeout_ms: int = 10_000
    record_bytes: int = 128
    isolation: str = "read_uncommitted"

    @property
    def window(self) -> int:
        """Messages a closed loop keeps under way in one client: twice what its requests can hold."""
        return min(QUEUE_MESSAGES // 2, max(100, 2 * self.in_flight * self.batch_bytes // self.record_bytes))


def producer_config(bootstrap: str, settings: ClientSettings, name: str) -> dict[str, Any]:
    return _common(bootstrap, settings, name) | {
        "acks": settings.acks,
        "enable.idempotence": settings.idempotence,
        "max.in.flight.requests.per.connection": settings.in_flight,
        "linger.ms": settings.linger_ms,
        "batch.size": settings.batch_bytes,
        "compression.type": settings.compression,
        "retries": settings.retries,
        "request.timeout.ms": settings.request_timeout_ms,
        "delivery.timeout.ms": settings.delivery_timeout_ms,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 500,
        "queue.buffering.max.messages": QUEUE_MESSAGES,
        "queue.buffering.max.kbytes": QUEUE_KBYTES,
    }


def consumer_config(bootstrap: str, settings: ClientSettings, name: str, *, tell_ends: bool = False) -> dict[str, Any]:
    return _common(bootstrap, settings, name) | {
        "group.id": name,
        "check.crcs": True,
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": tell_ends,
        "isolation.level": settings.isolation,
        "fetch.wait.max.ms": FETCH_WAIT_MS,
        "fetch.error.backoff.ms": 50,
        "queued.max.messages.kbytes": 16_384,
    }


def new_producer(bootstrap: str, settings: ClientSettings, name: str, on_error: Callable[[KafkaError], None]) -> Producer:
    return Producer(producer_config(bootstrap, settings, name) | {"error_cb": on_error}, logger=_SILENT)


def new_consumer(bootstrap: str, settings: ClientSettings, name: str, *, tell_ends: bool = False) -> Consumer:
    config = consumer_config(bootstrap, settings, name, tell_ends=tell_ends)
    return Consumer(config | {"error_cb": _ignore}, logger=_SILENT)


def is_fatal(error: KafkaError) -> bool:
    """The client instance is of no more use."""
    return error.fatal() or error.code() == KafkaError._FATAL


def _common(bootstrap: str, settings: ClientSettings, name: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "client.id": name,
        "message.max.bytes": _LARGEST_MESSAGE,
        "socket.timeout.ms": max(settings.request_timeout_ms, FETCH_WAIT_MS + 1_000),
        "socket.connection.setup.timeout.ms": max(1_000, settings.request_timeout_ms),
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 5_000,
        "topic.metadata.refresh.fast.interval.ms": 100,
    }


def _ignore(_error: KafkaError) -> None:
    """Brokers that cannot be reached show in what operations return."""
