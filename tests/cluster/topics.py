"""Topics for tests to break: made, filled, and asked for at one broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import CLIENT, PRODUCER, silent_logger
from tests.cluster.watching import DEADLINE

PATIENT: dict[str, Any] = PRODUCER | {"delivery.timeout.ms": 60_000, "batch.num.messages": 1}


def administer(bootstrap: str) -> AdminClient:
    """To be held until the answer is there: what is under way ends with the client."""
    return AdminClient(CLIENT | {"bootstrap.servers": bootstrap}, logger=silent_logger())


def create_topic(
    cluster: LocalCluster, topic: str, partitions: int, settings: Mapping[str, str] | None = None, *, replicas: int = 3
) -> None:
    """With replicas of which two must be in sync."""
    new = NewTopic(topic, partitions, replicas, config={"min.insync.replicas": "2"} | dict(settings or {}))
    admin = administer(cluster.bootstrap)
    admin.create_topics([new], operation_timeout=30, request_timeout=60)[topic].result(DEADLINE)


def fill(cluster: LocalCluster, topic: str, partitions: int = 1, messages: int = 1) -> int:
    """So many messages into each partition, a batch each; returns how many were acknowledged."""
    stored: list[Message] = []

    def settled(error: object, message: Message) -> None:
        if error is None:
            stored.append(message)

    producer = Producer(PATIENT | {"bootstrap.servers": cluster.bootstrap}, logger=silent_logger())
    for number in range(messages):
        for partition in range(partitions):
            producer.produce(topic, f"0:{partition}:{number:07d}" + "." * 100, partition=partition, on_delivery=settled)
    producer.flush(DEADLINE)
    return len(stored)


def refusal(cluster: LocalCluster, topic: str, value: bytes = b"once") -> str | None:
    """The error with which a single message is refused, not tried again; None: it was stored."""
    told: list[str | None] = []
    settings = PATIENT | {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": False, "retries": 0}
    producer = Producer(settings, logger=silent_logger())
    producer.produce(topic, value, on_delivery=lambda error, _message: told.append(error.name() if error is not None else None))
    producer.flush(DEADLINE)
    return told[0]


def topics_of(bootstrap: str) -> dict[str, dict[int, list[int]]]:
    """Replicas of each partition of each topic, as these brokers tell."""
    known = administer(bootstrap).list_topics(timeout=30).topics
    return {name: {number: sorted(one.replicas) for number, one in topic.partitions.items()} for name, topic in known.items()}
