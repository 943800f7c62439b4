"""confluent-kafka: librdkafka, the strictest reader of what a broker says."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, ElectionType, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions
from confluent_kafka.cimpl import NewTopic as RdNewTopic

from tests.clients.interface import DEFAULT_LARGEST, LOCAL, PATIENCE, Message, NewTopic, Operator, PartitionPlace, Reader, Received, Refused

_SILENT = logging.getLogger("tests.clients.librdkafka")
_SILENT.setLevel(logging.CRITICAL + 1)


class ConfluentClient(Operator):
    name = "confluent-kafka"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin = AdminClient(self._settings(), logger=_SILENT)

    def close(self) -> None:
        self._admin.poll(0)

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        largest: int = DEFAULT_LARGEST,
    ) -> list[int]:
        settings = {"acks": acks, "compression.type": codec, "enable.idempotence": idempotent, "message.max.bytes": largest}
        settings |= {"batch.num.messages": 10} if idempotent else {}
        producer = Producer({**self._settings(), **settings, "linger.ms": 0, "delivery.timeout.ms": int(PATIENCE * 1000)}, logger=_SILENT)
        outcomes: dict[int, int | KafkaError] = {}
        for index, message in enumerate(messages):
            given: dict[str, Any] = {} if message.timestamp is None else {"timestamp": message.timestamp}
            headers: list[tuple[str, str | bytes | None]] = list(message.headers)
            try:
                producer.produce(
                    topic, message.value, message.key, partition, headers=headers or None, on_delivery=_outcome_to(outcomes, index), **given
                )
            except KafkaException as problem:
                raise _refused(problem.args[0]) from problem
        assert producer.flush(PATIENCE) == 0, "messages neither delivered nor refused in time"
        return [_offset(outcomes[index]) for index in range(len(messages))]

    def open_reader(self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 500, reset: str = "none") -> Reader:
        settings = {
            "fetch.wait.max.ms": max_wait_ms,
            "auto.offset.reset": "error" if reset == "none" else reset,
            "fetch.message.max.bytes": 4096,
        }
        return _ConfluentReader(self._consumer(settings), TopicPartition(topic, partition, offset))

    def ends(self, topic: str, partition: int = 0) -> tuple[int, int]:
        consumer = self._consumer({})
        try:
            low, high = _call(lambda: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE))
            return low, high
        finally:
            consumer.close()

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        consumer = self._consumer({})
        try:
            (found,) = _call(lambda: consumer.offsets_for_times([TopicPartition(topic, partition, timestamp)], timeout=PATIENCE))
            return found.offset if found.offset >= 0 else None
        finally:
            consumer.close()

    def create_topic(self, topic: NewTopic) -> None:
        how: dict[str, Any] = {"num_partitions": topic.partitions, "replication_factor": topic.replicas}
        if topic.assignment is not None:
            places = [list(topic.assignment[index]) for index in sorted(topic.assignment)]
            how = {"num_partitions": len(places), "replica_assignment": places}
        new = RdNewTopic(topic.name, config=dict(topic.configs or {}), **how)
        self._settle(self._admin.create_topics([new], operation_timeout=PATIENCE)[topic.name])

    def delete_topic(self, name: str) -> None:
        self._settle(self._admin.delete_topics([name], operation_timeout=PATIENCE)[name])

    def add_partitions(self, name: str, total: int, placed: Sequence[Sequence[int]] | None = None) -> None:
        given = {} if placed is None else {"replica_assignment": [list(each) for each in placed]}
        self._settle(self._admin.create_partitions([NewPartitions(name, total, **given)], operation_timeout=PATIENCE)[name])

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE).topics)

    def describe(self, name: str) -> list[PartitionPlace]:
        topic = self._admin.list_topics(name, timeout=PATIENCE).topics[name]
        if topic.error is not None:
            raise _refused(topic.error)
        return [
            PartitionPlace(index, partition.leader, tuple(partition.replicas), frozenset(partition.isrs))
            for index, partition in sorted(topic.partitions.items())
        ]

    def configs(self, name: str) -> dict[str, str | None]:
        resource = ConfigResource(ResourceType.TOPIC, name)
        entries = self._settle(self._admin.describe_configs([resource])[resource])
        return {key: entry.value for key, entry in entries.items()}

    def set_config(self, topic: str, key: str, value: str | None) -> None:
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        resource = ConfigResource(
            ResourceType.TOPIC, topic, incremental_configs=[ConfigEntry(key, value or "", incremental_operation=operation)]
        )
        self._settle(self._admin.incremental_alter_configs([resource])[resource])

    def elect_preferred(self, topic: str, partition: int) -> None:
        answer = self._settle(self._admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, partition)]))
        for outcome in answer.values():
            if outcome is not None:
                raise _refused(outcome.args[0] if isinstance(outcome, KafkaException) else outcome)

    def brokers(self) -> tuple[int, set[int]]:
        described = self._settle(self._admin.describe_cluster())
        return described.controller.id, {node.id for node in described.nodes}

    def _settings(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            "log_level": 0,
            "broker.address.family": "v4",
            "topic.metadata.refresh.fast.interval.ms": 50,
        }

    def _consumer(self, settings: dict[str, Any]) -> Consumer:
        fixed = {"group.id": "by-hand", "enable.auto.commit": False, "enable.partition.eof": False}
        return Consumer({**self._settings(), **fixed, **settings}, logger=_SILENT)

    def _settle(self, future: Any) -> Any:
        return _call(lambda: future.result(PATIENCE))


class _ConfluentReader(Reader):
    def __init__(self, consumer: Consumer, place: TopicPartition) -> None:
        self._consumer = consumer
        self._place = place
        consumer.assign([place])

    def seek(self, offset: int) -> None:
        self._consumer.assign([TopicPartition(self._place.topic, self._place.partition, offset)])

    def read(self, count: int) -> list[Received]:
        read: list[Received] = []
        deadline = time.monotonic() + PATIENCE
        while len(read) < count:
            assert time.monotonic() < deadline, f"{len(read)} of {count} messages in time"
            for message in _call(lambda: self._consumer.consume(count - len(read), timeout=1.0)):
                if message.error() is not None:
                    raise _refused(message.error())
                kind, timestamp = message.timestamp()
                headers = tuple((name, value) for name, value in message.headers() or ())
                read.append(
                    Received(message.offset(), message.value(), message.key(), headers, timestamp, kind == TIMESTAMP_LOG_APPEND_TIME)
                )
        return read

    def close(self) -> None:
        self._consumer.close()


def _outcome_to(outcomes: dict[int, int | KafkaError], index: int) -> Callable[[KafkaError | None, Any], None]:
    def delivered(error: KafkaError | None, message: Any) -> None:
        outcomes[index] = error if error is not None else message.offset() if message.offset() is not None else -1

    return delivered


def _offset(outcome: int | KafkaError) -> int:
    if isinstance(outcome, KafkaError):
        raise _refused(outcome)
    return outcome


def _call(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except KafkaException as problem:
        raise _refused(problem.args[0]) from problem


def _refused(error: KafkaError) -> Refused:
    """librdkafka's own errors are below -1; where it met OFFSET_OUT_OF_RANGE and may not reset, its text tells."""
    code = error.code()
    if code == KafkaError._AUTO_OFFSET_RESET and "out of range" in error.str():
        code = KafkaError.OFFSET_OUT_OF_RANGE
    return Refused(code if code >= -1 else LOCAL, error)
