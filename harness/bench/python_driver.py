"""The client of `driver.c`, through confluent-kafka: for machines without a compiler. Same arguments, same JSON.

Each message costs a few microseconds of Python here, so what it reaches is a lower bound.
"""

from __future__ import annotations

import json
import sys
import time
from array import array
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_OFFSET_BEGINNING = -2
_TIMED_OUT = -185


@dataclass(slots=True)
class Task:
    brokers: str = ""
    topic: str = ""
    partitions: int = 1
    size: int = 100
    count: int = 1
    seconds: float = 1e6
    rate: float = 0.0
    timeout: float = 60.0
    deliveries: str = ""
    conf: dict[str, str] = field(default_factory=dict)


class Run:
    """Invariant: `settled` counts every delivery report since the warm-up, `failed` those with an error."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.producer = Producer({"bootstrap.servers": task.brokers, **task.conf})
        self.payload = bytes(i * 2654435761 >> 13 & 0xFF for i in range(task.size))
        self.settled = self.failed = 0
        self.first_error = ""
        self.last_ack = 0
        self.times: list[array[int]] = []

    def produce(self) -> dict[str, object]:
        task = self.task
        for partition in range(task.partitions):
            self._send(partition, None)
        if self.producer.flush(task.timeout) or self.failed:
            raise KafkaException(KafkaError(_TIMED_OUT))
        self.settled = 0
        cpu, started = time.process_time(), _now_us()
        self.last_ack = started
        sent = self._send_all(started)
        self.producer.flush(task.timeout)
        self.failed += sent - self.settled
        delivered = sent - self.failed
        if task.deliveries:
            with open(task.deliveries, "wb") as file:
                for row in self.times:
                    row.tofile(file)
        return self._report("produce", delivered, delivered * task.size, task.partitions, started, cpu)

    def _send_all(self, started: int) -> int:
        task, stop = self.task, started + int(self.task.seconds * 1e6)
        for number in range(task.count):
            due = started + int(number * 1e6 / task.rate) if task.rate else _now_us()
            if due >= stop:
                return number
            while task.rate and (wait := due - _now_us()) > 0:
                self.producer.poll(wait / 1e6)
            row = array("q", (due, 0, 0)) if task.deliveries else None
            if row is not None:
                self.times.append(row)
            self._send(number % task.partitions, row)
            if number % 64 == 0:
                self.producer.poll(0)
        return task.count

    def _send(self, partition: int, row: array[int] | None) -> None:
        def report(error: KafkaError | None, _message: Message) -> None:
            self._delivered(error, row)

        while True:
            try:
                self.producer.produce(self.task.topic, self.payload, partition=partition, on_delivery=report)
                return
            except BufferError:
                self.producer.poll(0.01)

    def _delivered(self, error: KafkaError | None, row: array[int] | None) -> None:
        self.settled += 1
        self.last_ack = _now_us()
        if error is not None:
            self.failed += 1
            self.first_error = self.first_error or error.name()
        if row is not None:
            row[1], row[2] = self.last_ack, error.code() if error is not None else 0

    def _report(self, mode: str, messages: int, size: int, warmup: int, started: int, cpu: float) -> dict[str, object]:
        times = {"seconds": (self.last_ack - started) / 1e6, "cpu_seconds": time.process_time() - cpu}
        problems = {"errors": self.failed, "first_error": self.first_error}
        return {"mode": mode, "messages": messages, "bytes": size, "warmup": warmup, **times, **problems}


def consume(task: Task) -> dict[str, object]:
    consumer = Consumer({"bootstrap.servers": task.brokers, "group.id": "bench", "enable.auto.commit": False, **task.conf})
    consumer.assign([TopicPartition(task.topic, partition, _OFFSET_BEGINNING) for partition in range(task.partitions)])
    cpu, started = time.process_time(), time.monotonic()
    ended, count, size, errors = started, 0, 0, 0
    while count < task.count and time.monotonic() - started < task.timeout:
        for message in consumer.consume(5000, timeout=0.05):
            if message.error() is None:
                count, size = count + 1, size + len(message.value() or b"")
            else:
                errors += 1
            ended = time.monotonic()
    times = {"seconds": ended - started, "cpu_seconds": time.process_time() - cpu}
    return {"mode": "consume", "messages": count, "bytes": size, "warmup": 0, **times, "errors": errors, "first_error": ""}


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
    chosen = read_task(sys.argv[2:])
    try:
        print(json.dumps(Run(chosen).produce() if sys.argv[1] == "produce" else consume(chosen)))
    except KafkaException as problem:
        sys.exit(f"driver: {problem}")
