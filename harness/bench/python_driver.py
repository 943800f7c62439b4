"""The client of `driver.c`, through confluent-kafka: for machines without a compiler. Same arguments, same JSON.

Each message costs a few microseconds of Python here, so what it reaches is a lower bound. Several producers take turns in one thread.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_OFFSET_BEGINNING = -2
_TIMED_OUT = -192
_DUE = struct.Struct("=q")


@dataclass(slots=True)
class Task:
    brokers: str = ""
    topic: str = ""
    partitions: int = 1
    producers: int = 1
    consumers: int = 1
    size: int = 100
    count: int = 1
    least: int = 0
    seconds: float = 1e6
    rate: float = 0.0
    timeout: float = 60.0
    replicated: int = 0
    deliveries: str = ""
    received: str = ""
    payload: str = ""
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def warmup(self) -> int:
        return self.producers * self.partitions


class Run:
    """Invariant: `settled` counts every delivery report since the warm-up, `failed` those with an error."""

    def __init__(self, task: Task, readers: Readers | None) -> None:
        self.task, self.readers = task, readers
        self.producers = [Producer({"bootstrap.servers": task.brokers, **task.conf}) for _ in range(task.producers)]
        self.pool = Path(task.payload).read_bytes() if task.payload else bytes(i * 2654435761 >> 13 & 0xFF for i in range(task.size + 1))
        self.settled = self.failed = 0
        self.sent = [0] * task.partitions
        self.blocked = 0.0
        self.first_error = ""
        self.last_ack = 0
        self.times: list[array[int]] = []

    def produce(self) -> dict[str, object]:
        task = self.task
        for producer in self.producers:
            for partition in range(task.partitions):
                self._send(producer, partition, -1, 0, None)
        if self._flush() or self.failed:
            raise KafkaException(KafkaError(_TIMED_OUT))
        if self.readers is not None:
            self.readers.wait_for(task.warmup)
        self.settled, self.blocked = 0, 0.0
        cpu, started = time.process_time(), _now_us()
        self.last_ack = started
        sent = self._send_all(started)
        sent_at = _now_us()
        self._flush()
        self.failed += sent - self.settled
        cpu = time.process_time() - cpu
        behind, replicated = self._await_replicated() if task.replicated and not self.failed else (0, started)
        delivered = sent - self.failed
        if self.readers is not None:
            self.readers.wait_for(task.warmup + delivered)
        if task.deliveries:
            with open(task.deliveries, "wb") as file:
                for row in self.times:
                    row.tofile(file)
        times = {"seconds": (self.last_ack - started) / 1e6, "cpu_seconds": cpu, "busiest_thread_seconds": cpu}
        waits = {
            "waited_seconds": self.blocked + max(self.last_ack - sent_at, 0) / 1e6,
            "behind": behind,
            "replicated_seconds": (replicated - started) / 1e6,
        }
        counts = {"messages": delivered, "bytes": delivered * task.size, "warmup": task.warmup, "errors": self.failed}
        received = self.readers.count - task.warmup if self.readers is not None else 0
        return {**counts, **times, **waits, "first_error": self.first_error, "received": received}

    def _send_all(self, started: int) -> int:
        task, stop = self.task, started + int(self.task.seconds * 1e6)
        for number in range(task.count):
            due = started + int(number * 1e6 / task.rate) if task.rate else _now_us()
            if due >= stop and (task.rate or number >= task.least):
                return number
            producer = self.producers[number % task.producers]
            while task.rate and (wait := due - _now_us()) > 0:
                producer.poll(wait / 1e6)
            row = array("q", (due, 0, 0)) if task.deliveries else None
            if row is not None:
                self.times.append(row)
            self._send(producer, number % task.partitions, number, due, row)
            if number % 64 < task.producers:
                producer.poll(0)
        return task.count

    def _send(self, producer: Producer, partition: int, number: int, due: int, row: array[int] | None) -> None:
        def report(error: KafkaError | None, _message: Message) -> None:
            self._delivered(error, row)

        self.sent[partition] += 1
        value = self._message(number, due)
        while True:
            try:
                producer.produce(self.task.topic, value, partition=partition, on_delivery=report)
                return
            except BufferError:
                waiting = time.monotonic()
                producer.poll(0.01)
                self.blocked += time.monotonic() - waiting

    def _message(self, number: int, due: int) -> bytes:
        size = self.task.size
        start = (number + 1) * size % (len(self.pool) - size)
        value = self.pool[start : start + size]
        return value if self.readers is None else _DUE.pack(due) + value[_DUE.size :]

    def _flush(self) -> int:
        return sum(producer.flush(self.task.timeout) for producer in self.producers)

    def _await_replicated(self) -> tuple[int, int]:
        """What was missing when this began, and when nothing was any more."""
        watcher = Consumer({"bootstrap.servers": self.task.brokers, "group.id": "bench"})
        behind = 0
        for partition, expected in enumerate(self.sent):
            place, first, high = TopicPartition(self.task.topic, partition), True, 0
            while high < expected:
                _low, high = watcher.get_watermark_offsets(place, timeout=self.task.timeout)
                behind += expected - high if first else 0
                first = False
        return behind, _now_us()

    def _delivered(self, error: KafkaError | None, row: array[int] | None) -> None:
        self.settled += 1
        self.last_ack = _now_us()
        if error is not None:
            self.failed += 1
            self.first_error = self.first_error or error.name()
        if row is not None:
            row[1], row[2] = self.last_ack, error.code() if error is not None else 0


class Readers:
    """Consumers that share the partitions. With `timed`, when each message was due and when it was here is kept in `receipts`."""

    def __init__(self, task: Task, conf: dict[str, str], *, timed: bool) -> None:
        self.receipts = array("q")
        self.count = self.size = self.errors = 0
        self._timed, self._patience = timed, task.timeout
        self._changed = threading.Condition()
        for number in range(task.consumers):
            consumer = Consumer({"bootstrap.servers": task.brokers, "group.id": "bench", "enable.auto.commit": False, **conf})
            mine = range(number, task.partitions, task.consumers)
            consumer.assign([TopicPartition(task.topic, partition, _OFFSET_BEGINNING) for partition in mine])
            threading.Thread(target=self._read, args=(consumer,), daemon=True).start()
        self.ended = time.monotonic()

    def wait_for(self, count: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.count >= count, self._patience)

    def _read(self, consumer: Consumer) -> None:
        while True:
            messages = consumer.consume(1 if self._timed else 5000, timeout=0.05)
            now = _now_us()
            with self._changed:
                for message in messages:
                    self._take(message, now)
                self._changed.notify()

    def _take(self, message: Message, now: int) -> None:
        value = message.value() or b""
        if message.error() is not None:
            self.errors += 1
            return
        self.count, self.size, self.ended = self.count + 1, self.size + len(value), time.monotonic()
        if self._timed and (due := _DUE.unpack_from(value)[0]):
            self.receipts.extend((due, now))


def exchange(task: Task) -> dict[str, object]:
    readers = Readers(task, {}, timed=True)
    result = Run(task, readers).produce()
    Path(task.received).write_bytes(readers.receipts.tobytes())
    return result


def consume(task: Task) -> dict[str, object]:
    cpu, started = time.process_time(), time.monotonic()
    readers = Readers(task, task.conf, timed=False)
    readers.wait_for(task.count)
    cpu = time.process_time() - cpu
    times = {"seconds": readers.ended - started, "cpu_seconds": cpu, "busiest_thread_seconds": cpu}
    return {"messages": readers.count, "bytes": readers.size, "warmup": 0, **times, "errors": readers.errors, "first_error": ""}


def read_task(arguments: list[str]) -> Task:
    task = Task()
    for argument in arguments:
        name, _equals, value = argument.partition("=")
        if name.startswith("conf."):
            task.conf[name.removeprefix("conf.")] = value
        else:
            setattr(task, name, type(getattr(task, name))(value))
    return task


def _now_us() -> int:
    return time.monotonic_ns() // 1000


if __name__ == "__main__":
    mode, chosen = sys.argv[1], read_task(sys.argv[2:])
    try:
        answer = {"produce": lambda: Run(chosen, None).produce(), "exchange": lambda: exchange(chosen), "consume": lambda: consume(chosen)}[
            mode
        ]()
        print(json.dumps({"mode": mode, **answer}), flush=True)
    except KafkaException as problem:
        sys.exit(f"driver: {problem}")
