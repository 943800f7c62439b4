"""Clients of a cluster under test, in a process of their own: idempotent producers with acks=all, and a consumer that reads along.

Every value is unique and says who sent it, to which partition and as which of its messages: so loss, duplication and reordering show
in the log itself. The outcome of every message is kept as the client saw it (acknowledged at an offset, or failed, which means: perhaps
stored), and everything the consumer ever saw. The process ends when its standard input does; then it writes what it knows into a file.

The trap: a client that gives up on messages starts a new producer epoch, and sends what waited behind them again under it, stored or
not. No broker can tell those from new ones, so clients here are more patient than any storm is long.

It runs apart from the tests because librdkafka's threads and the brokers' parent must not hold each other up.
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

ROOT = Path(__file__).resolve().parents[2]
DELIVERY_TIMEOUT = 180.0
FIRST_ACKS_DEADLINE = 60.0
FLUSH_DEADLINE = 60.0
READ_DEADLINE = 30.0
FINISH_DEADLINE = 120.0
CLIENT: dict[str, Any] = {
    "log_level": 0,
    "socket.timeout.ms": 5000,
    "socket.connection.setup.timeout.ms": 2000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 2000,
    "topic.metadata.refresh.fast.interval.ms": 100,
}
PRODUCER: dict[str, Any] = CLIENT | {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 5,
    "batch.num.messages": 20,
    "request.timeout.ms": 3000,
    "delivery.timeout.ms": int(DELIVERY_TIMEOUT * 1000),
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 500,
}
CONSUMER: dict[str, Any] = CLIENT | {
    "group.id": "reads-along",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "check.crcs": True,
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 50,
}

Placed = tuple[int, int, str]
"""(partition, offset, value)"""
Acked = tuple[int, int | None, str]
"""Without an offset where the client concluded from a later acknowledgement that this message is stored, too."""


NEW_EPOCH = "epoch bump"
"""librdkafka's word for its being about to begin one; the reason stands behind it."""


def silent_logger() -> logging.Logger:
    logger = logging.getLogger("silent")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def file_logger(path: Path, number: int) -> logging.Logger:
    """What a producer says of its identity, epochs and retries: without it nobody can tell its mistakes from the broker's."""
    logger = logging.getLogger(f"producer-{number}")
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(created).3f %(name)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    return logger


@dataclass(slots=True)
class Seen:
    """What the clients know at the end. `failed`: value and error; such a message may be in the log, once, or not. `epochs`: why
    producers began new ones, in their own words."""

    acked: list[Acked] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    read: list[Placed] = field(default_factory=list)
    fatal: list[str] = field(default_factory=list)
    epochs: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Seen:
        known = json.loads(path.read_text())
        acked, failed, read = ([tuple(row) for row in known[name]] for name in ("acked", "failed", "read"))
        return cls(acked, failed, read, known["fatal"], known["epochs"])


class Load:
    """The process, seen from the test that runs it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, report: Path, *, producers: int = 3, rate: int = 40) -> None:
        self._report = report
        told = map(str, (bootstrap, topic, partitions, producers, rate, report))
        self._command = [sys.executable, "-X", "faulthandler", "-m", "tests.cluster.load", *told]
        self._acked = 0
        self._moved = threading.Condition()

    def __enter__(self) -> Load:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._watcher.join()
        self._process.wait()

    @property
    def acked(self) -> int:
        return self._acked

    def await_more(self, messages: int, deadline: float = FIRST_ACKS_DEADLINE) -> None:
        """Until so many more messages were acknowledged than by now."""
        with self._moved:
            before = self._acked
            enough = self._moved.wait_for(lambda: self._acked >= before + messages, deadline)
            assert enough, f"only {self._acked - before} of {messages} more messages acknowledged within {deadline:.0f} s"

    def finish(self) -> Seen:
        """No more messages; waits for the fate of those under way. Clients that hang tell on standard error where."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(FINISH_DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            code = self._process.wait()
        assert code == 0, f"the clients came to grief: exit code {code}"
        self._watcher.join()
        return Seen.load(self._report)

    def _watch(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._moved:
                self._acked = int(line)
                self._moved.notify_all()


class _Clients:
    def __init__(self, bootstrap: str, topic: str, partitions: int, producers: int, journal: Path) -> None:
        self._topic = topic
        self._partitions = partitions
        self.seen = Seen()
        logger = silent_logger()
        settings = {"bootstrap.servers": bootstrap}
        told = PRODUCER | settings | {"error_cb": self._erred, "debug": "eos", "log_level": 7}
        self._producers = [Producer(told, logger=file_logger(journal, number)) for number in range(producers)]
        self._sent = [[0] * partitions for _ in range(producers)]
        self._consumer = Consumer(CONSUMER | settings, logger=logger)
        self._consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])

    def produce(self) -> None:
        """One message from every producer to every partition; a queue that is full is left alone for now, and a producer that gave
        up for good stays so: its error callback says why."""
        for number, producer in enumerate(self._producers):
            for partition in range(self._partitions):
                name = f"{number}:{partition}:{self._sent[number][partition]:07d}"
                padding = "." * (self._sent[number][partition] * 37 % 400)
                try:
                    producer.produce(self._topic, name + padding, partition=partition, on_delivery=partial(self._settled, name))
                except (BufferError, KafkaException):
                    continue
                self._sent[number][partition] += 1

    def poll(self) -> None:
        for producer in self._producers:
            producer.poll(0)
        for message in self._consumer.consume(1000, 0):
            self._consumed(message)

    def drain(self) -> None:
        """Until every message has a fate and the consumer has read what was acknowledged."""
        deadline = time.monotonic() + FLUSH_DEADLINE
        left = sum(producer.flush(max(0.0, deadline - time.monotonic())) for producer in self._producers)
        if left:
            self.seen.fatal.append(f"{left} messages have no fate {FLUSH_DEADLINE:.0f} s after the last one was sent")
        unread = {placed[:2] for placed in self.seen.acked if placed[1] is not None} - {placed[:2] for placed in self.seen.read}
        deadline = time.monotonic() + READ_DEADLINE
        while unread and time.monotonic() < deadline:
            for message in self._consumer.consume(1000, 0.1):
                self._consumed(message)
                unread.discard((message.partition(), message.offset()))
        if unread:
            self.seen.fatal.append(f"{len(unread)} acknowledged messages were not read {READ_DEADLINE:.0f} s later")
        self._consumer.close()

    def _settled(self, name: str, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.seen.acked.append((message.partition(), message.offset(), name))
        else:
            self.seen.failed.append((name, error.name()))

    def _consumed(self, message: Any) -> None:
        error = message.error()
        if error is None:
            self.seen.read.append(place_of(message))
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._BAD_MSG):
            self.seen.fatal.append(f"the consumer of partition {message.partition()}: {error.str()}")

    def _erred(self, error: KafkaError) -> None:
        if error.fatal():
            self.seen.fatal.append(f"a producer: {error.str()}")


def place_of(message: Any) -> Placed:
    return message.partition(), message.offset(), message.value().decode().rstrip(".")


def read_all(bootstrap: str, topic: str, partitions: int, deadline: float = 60.0) -> list[Placed]:
    """The whole log as a fresh consumer that checks every checksum sees it, up to its end at the time of the call."""
    consumer = Consumer(CONSUMER | {"bootstrap.servers": bootstrap, "group.id": "reads-all"}, logger=silent_logger())
    until = time.monotonic() + deadline
    try:
        ends = {partition: _end(consumer, TopicPartition(topic, partition), until) for partition in range(partitions)}
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
        placed: list[Placed] = []
        waiting = {partition for partition, end in ends.items() if end > 0}
        while waiting:
            assert time.monotonic() < until, f"the end of partitions {waiting} of {ends} was not reached"
            for message in consumer.consume(1000, 0.2):
                if message.error() is None:
                    placed.append(place_of(message))
                    if placed[-1][1] >= ends[placed[-1][0]] - 1:
                        waiting.discard(placed[-1][0])
        return placed
    finally:
        consumer.close()


def _end(consumer: Consumer, partition: TopicPartition, until: float) -> int:
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=5.0)[1])
        except KafkaException:
            assert time.monotonic() < until, f"nobody tells where {partition} ends"


def _main(bootstrap: str, topic: str, partitions: str, producers: str, rate: str, report: str) -> None:
    journal = Path(report).with_suffix(".producers.log")
    clients = _Clients(bootstrap, topic, int(partitions), int(producers), journal)
    ended = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=await_end, daemon=True).start()
    told = 0
    while not ended.wait(1 / int(rate)):
        clients.produce()
        clients.poll()
        if len(clients.seen.acked) > told:
            told = len(clients.seen.acked)
            print(told, flush=True)
    clients.drain()
    clients.seen.epochs = [line for line in journal.read_text().splitlines() if NEW_EPOCH in line]
    Path(report).write_text(json.dumps(asdict(clients.seen)))
    print(len(clients.seen.acked), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
