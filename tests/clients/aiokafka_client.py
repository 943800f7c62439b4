"""aiokafka: asyncio, and the oldest versions of nearly every request that a broker of today still meets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions  # type: ignore[import-untyped]
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType  # type: ignore[import-untyped]
from aiokafka.errors import BrokerResponseError, KafkaError  # type: ignore[import-untyped]

from tests.clients.interface import (
    DEFAULT_LARGEST,
    LOCAL,
    PATIENCE,
    Client,
    Message,
    NewTopic,
    PartitionPlace,
    Reader,
    Received,
    Refused,
    check,
)

logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
_PATIENCE_MS = int(PATIENCE * 1000)
T = TypeVar("T")


class AiokafkaClient(Client):
    """Every call runs a loop of its own to its end, so that one client may serve several threads."""

    name = "aiokafka"

    def close(self) -> None:
        return None

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
        async def send() -> list[int]:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                acks="all" if acks == -1 else acks,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                max_request_size=largest + 1000,
                max_batch_size=largest + 1000,
                request_timeout_ms=_PATIENCE_MS,
            )
            await producer.start()
            try:
                return await _send_all(producer, topic, messages, partition)
            finally:
                await producer.stop()

        return _run(send)

    def open_reader(self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 500, reset: str = "none") -> Reader:
        settings = {"fetch_max_wait_ms": max_wait_ms, "request_timeout_ms": max_wait_ms + _PATIENCE_MS, "auto_offset_reset": reset}
        return _AiokafkaReader(self.bootstrap, TopicPartition(topic, partition), offset, settings)

    def ends(self, topic: str, partition: int = 0) -> tuple[int, int]:
        place = TopicPartition(topic, partition)

        async def ask() -> tuple[int, int]:
            async with self._consumer() as consumer:
                low, high = await consumer.beginning_offsets([place]), await consumer.end_offsets([place])
                return low[place], high[place]

        return _run(ask)

    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None:
        place = TopicPartition(topic, partition)

        async def ask() -> int | None:
            async with self._consumer() as consumer:
                found = (await consumer.offsets_for_times({place: timestamp}))[place]
                return None if found is None else found.offset

        return _run(ask)

    def create_topic(self, topic: NewTopic) -> None:
        places = None if topic.assignment is None else {index: list(replicas) for index, replicas in topic.assignment.items()}
        counted = (-1, -1) if topic.assignment is not None else (1, 1)
        new = AioNewTopic(topic.name, *counted, places, dict(topic.configs or {}))
        new.num_partitions, new.replication_factor = topic.partitions, topic.replicas  # it knows no defaults, the protocol does
        for _name, code, *text in self._ask(lambda admin: admin.create_topics([new])).topic_errors:
            check(code, text)

    def delete_topic(self, name: str) -> None:
        for _name, code in self._ask(lambda admin: admin.delete_topics([name])).topic_error_codes:
            check(code)

    def add_partitions(self, name: str, total: int, placed: Sequence[Sequence[int]] | None = None) -> None:
        new = NewPartitions(total, None if placed is None else [list(each) for each in placed])
        for _name, code, text in self._ask(lambda admin: admin.create_partitions({name: new})).topic_errors:
            check(code, text)

    def topics(self) -> set[str]:
        return set(self._ask(lambda admin: admin.list_topics()))

    def describe(self, name: str) -> list[PartitionPlace]:
        (topic,) = self._ask(lambda admin: admin.describe_topics([name]))
        check(topic["error_code"])
        return [
            PartitionPlace(each["partition"], each["leader"], tuple(each["replicas"]), frozenset(each["isr"]))
            for each in sorted(topic["partitions"], key=lambda each: each["partition"])
        ]

    def configs(self, name: str) -> dict[str, str | None]:
        (answer,) = self._ask(lambda admin: admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)]))
        ((code, text, _kind, _name, entries),) = answer.resources
        check(code, text)
        return {entry[0]: entry[1] for entry in entries}

    def brokers(self) -> tuple[int, set[int]]:
        described = self._ask(lambda admin: admin.describe_cluster())
        return described["controller_id"], {broker["node_id"] for broker in described["brokers"]}

    def _ask(self, question: Callable[[AIOKafkaAdminClient], Awaitable[T]]) -> T:
        async def ask() -> T:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap, request_timeout_ms=_PATIENCE_MS)
            await admin.start()
            try:
                return await question(admin)
            finally:
                await admin.close()

        return _run(ask)

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[AIOKafkaConsumer]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, request_timeout_ms=_PATIENCE_MS)
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()


class _AiokafkaReader(Reader):
    def __init__(self, bootstrap: str, place: TopicPartition, offset: int, settings: dict[str, Any]) -> None:
        self._place = place
        self._runner = asyncio.Runner()
        self._consumer = self._runner.run(self._start(bootstrap, settings))
        self.seek(offset)

    def seek(self, offset: int) -> None:
        async def seek() -> None:
            self._consumer.seek(self._place, offset)

        self._runner.run(seek())

    def read(self, count: int) -> list[Received]:
        return _translated(lambda: self._runner.run(self._read(count)))

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()

    async def _start(self, bootstrap: str, settings: dict[str, Any]) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, max_partition_fetch_bytes=4096, **settings)
        await consumer.start()
        consumer.assign([self._place])
        return consumer

    async def _read(self, count: int) -> list[Received]:
        read: list[Received] = []
        async with asyncio.timeout(PATIENCE):
            while len(read) < count:
                each = await self._consumer.getone(self._place)
                headers = tuple((name, value) for name, value in each.headers)
                read.append(Received(each.offset, each.value, each.key, headers, each.timestamp, each.timestamp_type == 1))
        return read


async def _send_all(producer: AIOKafkaProducer, topic: str, messages: Sequence[Message], partition: int) -> list[int]:
    futures = [
        await producer.send(
            topic, each.value, each.key, partition=partition, timestamp_ms=each.timestamp, headers=list(each.headers) or None
        )
        for each in messages
    ]
    await producer.flush()
    async with asyncio.timeout(PATIENCE):
        answers = [await future for future in futures]
    return [-1 if answer is None else answer.offset for answer in answers]


def _run(action: Callable[[], Any]) -> Any:
    return _translated(lambda: asyncio.run(action()))


def _translated(action: Callable[[], T]) -> T:
    try:
        return action()
    except BrokerResponseError as problem:
        raise Refused(problem.errno, problem) from problem
    except (KafkaError, AssertionError, ValueError) as problem:
        raise Refused(LOCAL, problem) from problem
