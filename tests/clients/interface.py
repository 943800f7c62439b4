"""What a Kafka client library can do, in one vocabulary, so that a behaviour is written once and asked of all of them.

A broker's refusal becomes `Refused` with Kafka's own error code, whatever the library calls it; an error the library found by itself,
without asking the broker, has the code LOCAL. Every call waits for what it asked for and gives up after `PATIENCE` seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from broker_impl.protocol.errors import ErrorCode

PATIENCE = 60.0
LOCAL = -999
DEFAULT_LARGEST = 1_000_000
Headers = tuple[tuple[str, bytes | None], ...]
Assignment = Mapping[int, Sequence[int]]


class Refused(Exception):
    """The broker said no, or the library did (LOCAL)."""

    def __init__(self, code: int, text: object = "") -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def check(code: int, text: object = "") -> None:
    if code != ErrorCode.NONE:
        raise Refused(code, text)


@dataclass(frozen=True, slots=True)
class Message:
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """`log_append_time`: whether the timestamp is the broker's."""

    offset: int
    value: bytes | None
    key: bytes | None
    headers: Headers
    timestamp: int
    log_append_time: bool


@dataclass(frozen=True, slots=True)
class PartitionPlace:
    index: int
    leader: int
    replicas: tuple[int, ...]
    isr: frozenset[int]


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int = -1
    replicas: int = -1
    assignment: Assignment | None = None
    configs: Mapping[str, str] | None = None


class Reader(ABC):
    """A consumer with one partition assigned by hand."""

    @abstractmethod
    def seek(self, offset: int) -> None: ...

    @abstractmethod
    def read(self, count: int) -> list[Received]:
        """The next `count` messages; Refused where the broker or `reset` says no."""

    @abstractmethod
    def close(self) -> None: ...


class Client(ABC):
    """One library's producer, consumer and admin client, all pointed at one cluster."""

    name: ClassVar[str]

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
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
        """The offsets the messages got; -1 each with acks=0. All of them are on their way before the first answer is awaited."""

    @abstractmethod
    def open_reader(self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 500, reset: str = "none") -> Reader: ...

    @abstractmethod
    def ends(self, topic: str, partition: int = 0) -> tuple[int, int]: ...

    @abstractmethod
    def offset_at(self, topic: str, timestamp: int, partition: int = 0) -> int | None: ...

    @abstractmethod
    def create_topic(self, topic: NewTopic) -> None: ...

    @abstractmethod
    def delete_topic(self, name: str) -> None: ...

    @abstractmethod
    def add_partitions(self, name: str, total: int, placed: Sequence[Sequence[int]] | None = None) -> None: ...

    @abstractmethod
    def topics(self) -> set[str]: ...

    @abstractmethod
    def describe(self, name: str) -> list[PartitionPlace]: ...

    @abstractmethod
    def configs(self, name: str) -> dict[str, str | None]: ...

    @abstractmethod
    def brokers(self) -> tuple[int, set[int]]:
        """The controller and all brokers, by id."""

    @contextmanager
    def reader(self, topic: str, offset: int, *, partition: int = 0, max_wait_ms: int = 500, reset: str = "none") -> Iterator[Reader]:
        reader = self.open_reader(topic, offset, partition=partition, max_wait_ms=max_wait_ms, reset=reset)
        try:
            yield reader
        finally:
            reader.close()

    def consume(self, topic: str, count: int, *, offset: int = 0, partition: int = 0) -> list[Received]:
        with self.reader(topic, offset, partition=partition) as reader:
            return reader.read(count)


class Operator(Client):
    """A library that knows the newer admin calls too."""

    @abstractmethod
    def set_config(self, topic: str, key: str, value: str | None) -> None:
        """One setting among others that stay; None: back to the default."""

    @abstractmethod
    def elect_preferred(self, topic: str, partition: int) -> None: ...
