"""Clients that do as the test says, and a session that records for real."""

from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from harness.history.recorder import Recorder
from workloads.payload import key_bytes
from workloads.session import Session
from workloads.worker_plan import WorkerPlan

PLACE = ("t", 0)


def plan_in(folder: Path, **more: Any) -> WorkerPlan:
    return WorkerPlan("nobody:1", str(folder), "run", time.monotonic_ns(), (("t", 2),), **more)


def session_in(folder: Path, **more: Any) -> Session:
    return Session(plan_in(folder, **more), 3, Recorder(folder, 3, segment_slots=1000))


class FakeProducer:
    """`answers` has, for each `produce`, an exception to raise, or the error and offset to report. The last one stays.

    After a fatal error it takes nothing.
    """

    def __init__(self, answers: list[Any]) -> None:
        self.answers = deque(answers)
        self.reports: deque[tuple[Any, KafkaError | None, int]] = deque()
        self.fatal: KafkaError | None = None
        self.raising: list[KafkaError] = []
        """What the next `poll` raises instead of serving reports."""
        self.serving = threading.Event()
        """Until it is set `poll` does nothing."""
        self.serving.set()
        self._lock = threading.Lock()

    def produce(self, topic: str, value: bytes, key: bytes | None, partition: int, *, on_delivery: Any) -> None:
        with self._lock:
            answer = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            if self.fatal:
                raise KafkaException(self.fatal)
            self.reports.append((on_delivery, *answer))

    def poll(self, timeout: float) -> int:
        if not self.serving.is_set():
            time.sleep(0.001)
            return 0
        if self.raising:
            raise KafkaException(self.raising.pop())
        if not self.reports:
            time.sleep(0.001)
        return self._serve()

    def __len__(self) -> int:
        return len(self.reports)

    def _serve(self) -> int:
        served = 0
        while self.reports:
            with self._lock:
                on_delivery, error, offset = self.reports.popleft()
                self.fatal = error if error and error.fatal() else self.fatal
            on_delivery(error, Message(topic="t", partition=0, offset=offset, timestamp=(1, 77)))
            served += 1
        return served


def making(answers: list[Any]) -> Any:
    return lambda _name, _on_error: FakeProducer(answers)


class FakeConsumer:
    """`answers` has, for each `consume`, what it returns or raises; `calls` what it was told."""

    def __init__(self, answers: deque[Any], calls: list[tuple[Any, ...]]) -> None:
        self.answers, self.calls = answers, calls
        self.seek_error: KafkaError | None = None
        self.assign_error: KafkaError | None = None
        self.found: Any = None

    def consume(self, most: int, timeout: float) -> list[Message]:
        answer = self.answers.popleft() if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

    def assign(self, partitions: list[Any]) -> None:
        self.calls.append(("assign", [(one.topic, one.partition, one.offset) for one in partitions]))
        if self.assign_error:
            raise KafkaException(self.assign_error)

    def seek(self, partition: Any) -> None:
        self.calls.append(("seek", partition.topic, partition.partition, partition.offset))
        if self.seek_error:
            raise KafkaException(self.seek_error)

    def offsets_for_times(self, partitions: list[Any], timeout: float) -> list[Any]:
        if isinstance(self.found, Exception):
            raise self.found
        return [self.found]

    def close(self) -> None:
        self.calls.append(("close",))


def message(session: Session, offset: int, value: int, part: int = 0) -> Message:
    payload = session.payloads.make("t", part, 5, value)
    return Message(topic="t", partition=part, offset=offset, key=key_bytes(5), value=payload, timestamp=(1, 1000 + offset))


def broken(code: int, offset: int = -1001, part: int = 0) -> Message:
    return Message(topic="t", partition=part, offset=offset, error=KafkaError(code))
