"""A case: one point of a suite's matrix, and what it means for a topic and for a client. Pure.

Everything about the load that can make a difference is a field here, so a figure is named by its case and by nothing else. Settings that a
case leaves at librdkafka's or Kafka's default are said all the same: defaults change with versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Literal

Acks = Literal["0", "1", "all"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Measure = Literal["throughput", "latency", "sustainable"]

_USUAL_LINGER_MS = 5.0
_NEVER = (1 << 63) - 1
_QUEUED_KB = 65_536
_QUEUED_MESSAGES = 1_000_000
_QUEUED_SINGLES = 2_000
"""Messages that wait to be sent alone: more would only take longer to drain when the time is over."""


@dataclass(frozen=True, slots=True)
class Case:
    acks: Acks = "all"
    replicas: int = 3
    min_insync: int = 2
    flush_messages: int = 0
    """A broker flushes a partition after so many messages; 0: when the kernel likes, as Kafka does by default."""
    idempotence: bool = False
    record_bytes: int = 1024
    batch_bytes: int = 1_000_000
    batch_messages: int = 10_000
    linger_ms: float = _USUAL_LINGER_MS
    compression: Compression = "none"
    partitions: int = 6
    producers: int = 1
    consumers: int = 1
    segment_bytes: int = 16 << 20
    measure: tuple[Measure, ...] = ("throughput", "latency")

    @property
    def key(self) -> str:
        """The same for the same load in any result."""
        return " ".join(f"{field.name}={_text(getattr(self, field.name))}" for field in fields(self) if field.name != "measure")


def topic_settings(case: Case) -> dict[str, str]:
    return {
        "min.insync.replicas": str(case.min_insync),
        "segment.bytes": str(case.segment_bytes),
        "flush.messages": str(case.flush_messages or _NEVER),
    }


def client_settings(case: Case) -> dict[str, str | int]:
    """By librdkafka's names."""
    single = case.batch_messages == 1
    return {
        "acks": case.acks,
        "enable.idempotence": str(case.idempotence).lower(),
        "batch.size": case.batch_bytes,
        "batch.num.messages": case.batch_messages,
        "linger.ms": f"{case.linger_ms:g}",
        "compression.type": case.compression,
        "queue.buffering.max.kbytes": _QUEUED_KB,
        "queue.buffering.max.messages": _QUEUED_SINGLES if single else _QUEUED_MESSAGES,
    }


def names_of(cases: Sequence[Case]) -> list[str]:
    """What tells each from the others, in words; where there is only one, its acks."""
    differing = [name for name in _WORDS if len({getattr(case, name) for case in cases}) > 1] or ["acks"]
    return [", ".join(word for name in differing if (word := _WORDS[name](case))) for case in cases]


def bytes_in_words(size: int) -> str:
    return f"{size // 1024:,} KiB" if size % 1024 == 0 else f"{size:,} B"


_WORDS: dict[str, Callable[[Case], str]] = {
    "acks": lambda case: f"acks={case.acks}",
    "record_bytes": lambda case: bytes_in_words(case.record_bytes),
    "batch_messages": lambda case: "single messages" if case.batch_messages == 1 else "",
    "replicas": lambda case: _so_many(case.replicas, "replica"),
    "min_insync": lambda case: f"min ISR {case.min_insync}",
    "flush_messages": lambda case: f"flush every {case.flush_messages}" if case.flush_messages else "",
    "idempotence": lambda case: "idempotent" if case.idempotence else "",
    "batch_bytes": lambda case: f"batches to {bytes_in_words(case.batch_bytes)}",
    "linger_ms": lambda case: "" if case.linger_ms == _USUAL_LINGER_MS or case.batch_messages == 1 else f"linger {case.linger_ms:g} ms",
    "compression": lambda case: "" if case.compression == "none" else case.compression,
    "partitions": lambda case: _so_many(case.partitions, "partition"),
    "producers": lambda case: _so_many(case.producers, "producer"),
    "consumers": lambda case: _so_many(case.consumers, "consumer"),
}


def _so_many(count: int, things: str) -> str:
    return f"{count:,} {things}" if count == 1 else f"{count:,} {things}s"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
