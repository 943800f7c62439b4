"""kafka-python: pure Python, and the one of the three that asks for fetch sessions and the newest admin versions."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import BrokerResponseError, KafkaError

from tests.clients import kafka_python_codecs
from tests.clients.interface import (
    DEFAULT_LARGEST,
    LOCAL,
    PATIENCE,
    Message,
    NewTopic,
    Operator,
    PartitionPlace,
    Reader,
    Received,
    Refused,
    check,
)

logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
kafka_python_codecs.lend()
_PATIENCE_MS = int(PATIENCE * 1000)
_ERROR_NUMBER = re.compile(r"\[Error (\d+)\]")
_PREFERRED = 0


class KafkaPythonClient(Operator):
    name = "kafka-python"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin_client: KafkaAdminClient | None = None

    def close(self) -> None:
        if self._admin_client is not None:
            self._admin_client.close()

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
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap.split(","),
            acks="all" if acks == -1 else acks,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            max_request_size=largest + 1000,
            max_block_ms=_PATIENCE_MS,
            delivery_timeout_ms=_PATIENCE_MS,
            metrics_enabled=False,
        )
        try:
            return _call(lambda: _send_all(producer, topic, messages, partition))
        finally:
            producer.close(timeout=PATIENCE)

    def open_reader(self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 500, reset: str = "none") -> Reader:
        waiting = {"fetch_max_wait_ms": max_wait_ms, "request_timeout_ms": max_wait_ms + _PATIENCE_MS}
        consumer = self._consumer(auto_offset_reset=reset, max_partition_fetch_bytes=4096, **waiting)
        return _KafkaPythonReader(consumer, TopicPartition(topic, partition), offset)

    def ends(self, topic: str, partition: int = 0) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            return _call(lambda: (consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]))
        finally:
            consumer.close()

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        place = TopicPartition(topic, partition)
        consumer = self._consumer()
        try:
            found = _call(lambda: consumer.offsets_for_times({place: timestamp})[place])
            return None if found is None else found.offset
        finally:
            consumer.close()

    def create_topic(self, topic: NewTopic) -> None:
        options: dict[str, Any] = {"num_partitions": topic.partitions, "replication_factor": topic.replicas}
        if topic.assignment is not None:
            options["assignments"] = {index: list(replicas) for index, replicas in topic.assignment.items()}
        answer = _call(
            lambda: self._admin.create_topics({topic.name: options | {"configs": dict(topic.configs or {})}}, raise_errors=False)
        )
        for each in answer["topics"]:
            check(each["error_code"], each["error_message"])

    def delete_topic(self, name: str) -> None:
        answer = _call(lambda: self._admin.delete_topics([name], raise_errors=False))
        for each in answer["topics"] if "topics" in answer else answer["responses"]:
            check(each["error_code"], each["error_message"])

    def add_partitions(self, name: str, total: int, placed: Sequence[Sequence[int]] | None = None) -> None:
        wanted: Any = total if placed is None else {"count": total, "assignments": [list(each) for each in placed]}
        for each in _call(lambda: self._admin.create_partitions({name: wanted}, raise_errors=False)).results:
            check(each.error_code, each.error_message)

    def topics(self) -> set[str]:
        return set(_call(self._admin_now().list_topics))

    def describe(self, name: str) -> list[PartitionPlace]:
        (topic,) = _call(lambda: self._admin.describe_topics([name]))
        check(topic["error_code"])
        return [
            PartitionPlace(each["partition_index"], each["leader_id"], tuple(each["replica_nodes"]), frozenset(each["isr_nodes"]))
            for each in sorted(topic["partitions"], key=lambda each: each["partition_index"])
        ]

    def configs(self, name: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        found = _call(lambda: self._admin.describe_configs([resource], config_filter="all"))["topic"][name]
        return {key: entry["value"] for key, entry in found.items()}

    def set_config(self, topic: str, key: str, value: str | None) -> None:
        edit = ("DELETE", None) if value is None else ("SET", value)
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: edit})
        outcome = _call(lambda: self._admin.alter_configs([resource], raise_on_unknown=False))["topic"][topic]
        if outcome != "OK":
            number = _ERROR_NUMBER.search(outcome)
            raise Refused(int(number.group(1)) if number else LOCAL, outcome)

    def elect_preferred(self, topic: str, partition: int) -> None:
        answer = _call(lambda: self._admin.elect_leaders(_PREFERRED, {topic: [partition]}, raise_errors=False))
        check(answer.error_code)
        for each in answer.replica_election_results:
            for outcome in each.partition_result:
                check(outcome.error_code, outcome.error_message)

    def brokers(self) -> tuple[int, set[int]]:
        described = _call(self._admin_now().describe_cluster)
        return described["controller_id"], {broker["broker_id"] for broker in described["brokers"]}

    def quorum(self) -> tuple[int, set[int]]:
        """The leader of the metadata log and its voters."""
        answer = _call(self._admin_now().describe_metadata_quorum)
        (topic,) = answer["topics"]
        (partition,) = topic["partitions"]
        return partition["leader_id"], {voter["replica_id"] for voter in partition["current_voters"]}

    @property
    def _admin(self) -> KafkaAdminClient:
        return self._admin_now()

    def _admin_now(self) -> KafkaAdminClient:
        """A new one each time: one that is kept goes on with metadata taken while a broker was away, and then knows no such broker."""
        if self._admin_client is not None:
            self._admin_client.close()
        self._admin_client = KafkaAdminClient(bootstrap_servers=self.bootstrap.split(","), request_timeout_ms=_PATIENCE_MS)
        return self._admin_client

    def _consumer(self, **settings: Any) -> KafkaConsumer:
        return KafkaConsumer(bootstrap_servers=self.bootstrap.split(","), group_id=None, metrics_enabled=False, **settings)


class _KafkaPythonReader(Reader):
    def __init__(self, consumer: KafkaConsumer, place: TopicPartition, offset: int) -> None:
        self._consumer = consumer
        self._place = place
        consumer.assign([place])
        consumer.seek(place, offset)

    def seek(self, offset: int) -> None:
        self._consumer.seek(self._place, offset)

    def read(self, count: int) -> list[Received]:
        read: list[Received] = []
        deadline = time.monotonic() + PATIENCE
        while len(read) < count:
            assert time.monotonic() < deadline, f"{len(read)} of {count} messages in time"
            polled = _call(lambda: self._consumer.poll(timeout_ms=1000, max_records=count - len(read)))
            for each in polled.get(self._place, []):
                headers = tuple((name, value) for name, value in each.headers)
                read.append(Received(each.offset, each.value, each.key, headers, each.timestamp, each.timestamp_type == 1))
        return read

    def close(self) -> None:
        self._consumer.close(timeout_ms=1000)


def _send_all(producer: KafkaProducer, topic: str, messages: Sequence[Message], partition: int) -> list[int]:
    futures = [
        producer.send(topic, each.value, each.key, headers=list(each.headers), partition=partition, timestamp_ms=each.timestamp)
        for each in messages
    ]
    producer.flush(timeout=PATIENCE)
    return [future.get(timeout=PATIENCE).offset for future in futures]


def _call(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except BrokerResponseError as problem:
        raise Refused(problem.errno, problem) from problem
    except (KafkaError, AssertionError, ValueError) as problem:
        raise Refused(LOCAL, problem) from problem
