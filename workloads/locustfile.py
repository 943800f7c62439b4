"""Shaped load with Locust: producers and consumers as users, every message a request.

    locust -f workloads/locustfile.py --headless --users 20 --run-time 60s --shape spike --bootstrap-servers HOST:PORT --topic TOPIC

Runs by itself against any brokers that speak Kafka's protocol; the topic must be there, or the brokers must make it when it is asked for.
A `produce` request is a message from when it was due to its acknowledgement, a `consume` request one from when it was due to its
arrival at a reader; what the client reports as an error is a failed request. `--users` counts producers; readers are there from the
beginning to the end beside them, each reading everything.

The trap is gevent: it patches sockets and threads and runs all users on one thread, which a call into librdkafka would hold up. So
clients are asked without waiting (`poll(0)`) between two sleeps of gevent's own, and what cannot but wait goes to gevent's pool of real
threads. Nothing of ours may import this file: it lives in locust's process.
"""

from __future__ import annotations

import json
import logging
import math
import random
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import gevent
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from locust import LoadTestShape, User, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment

SHAPES = ("flat", "step", "spike", "ramp")
STEPS = 4
SPIKE = (0.4, 0.6)
"""Of the run: when all producers are there, and not only a fifth of them."""
CALM_SHARE = 0.2

POLL_S = 0.005
"""How long a client is left alone: consumers' latencies are no finer than this. Producers' are taken by librdkafka itself."""
AT_ONCE = 100
DEFAULT_RUN_S = 60.0

_HEAD = struct.Struct(">4sq")
_OURS = b"hwld"
_SILENT = logging.getLogger("workloads.locust.librdkafka")
_SILENT.setLevel(logging.CRITICAL + 1)
_ENDING: list[gevent.Greenlet] = []
_T = TypeVar("_T")


def users_at(shape: str, elapsed: float, users: int, run_s: float) -> int:
    """How many producers there are after so many seconds; one at least."""
    share = min(max(elapsed / run_s, 0.0), 1.0)
    match shape:
        case "step":
            share = min(math.floor(share * STEPS) + 1, STEPS) / STEPS
        case "spike":
            share = 1.0 if SPIKE[0] <= share < SPIKE[1] else CALM_SHARE
        case "flat":
            share = 1.0
    return max(1, math.ceil(users * share))


@events.init_command_line_parser.add_listener
def add_options(parser: LocustArgumentParser) -> None:
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092", help="HOST:PORT, several separated by commas")
    parser.add_argument("--topic", default="highwater-load", help="what is written to and read")
    parser.add_argument("--acks", choices=("0", "1", "all"), default="all", help="replicas that must have a message")
    parser.add_argument("--record-bytes", type=int, default=1024, help=f"size of a message's value, {_HEAD.size} at least")
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second of each producer, whatever the brokers do")
    parser.add_argument("--consumers", type=int, default=1, help="readers beside the producers")
    parser.add_argument("--shape", choices=SHAPES, default="flat", help="how the number of producers goes over the run")
    parser.add_argument("--delivery-timeout", type=float, default=10.0, help="seconds after which a message has failed")


@events.init.add_listener
def set_consumers(environment: Environment, **_: Any) -> None:
    wanted: int = _options(environment).consumers
    ConsumerUser.fixed_count = wanted
    if not wanted:
        environment.user_classes = [kind for kind in environment.user_classes if kind is not ConsumerUser]


@events.init.add_listener
def end_in_order_when_told(environment: Environment, **_: Any) -> None:
    """Locust without its pages minds SIGTERM only when a shape is over: before that it would die with its results unwritten."""
    if _options(environment).headless and environment.runner is not None:
        gevent.signal_handler(signal.SIGTERM, environment.runner.quit)


@events.test_stop.add_listener
def write_errors(environment: Environment, **_: Any) -> None:
    """All of them: Locust's own file of failures ends up to a second before the run does."""
    gevent.joinall(_ENDING)
    prefix = _options(environment).csv_prefix
    if prefix:
        errors = environment.stats.errors.values()
        found = [{"request": error.method, "error": str(error.error), "times": error.occurrences} for error in errors]
        Path(f"{prefix}_errors.json").write_text(json.dumps(found, indent=1))


class Shape(LoadTestShape):
    use_common_options: ClassVar[bool] = True

    def tick(self) -> tuple[int, float] | None:
        assert self.runner is not None
        options = _options(self.runner.environment)
        elapsed, run_s = self.get_run_time(), options.run_time or DEFAULT_RUN_S
        if elapsed >= run_s:
            return None
        readers = sum(kind.fixed_count for kind in self.runner.environment.user_classes)
        users = users_at(options.shape, elapsed, options.num_users or 1, run_s) + readers
        return users, float(users)


class ProducerUser(User):
    """An open loop: when a message is due is fixed by the rate, and its latency counts from then."""

    def on_start(self) -> None:
        options = _options(self.environment)
        self._topic: str = options.topic
        self._interval = 1 / options.rate
        self._patience: float = options.delivery_timeout
        self._padding = random.randbytes(max(0, options.record_bytes - _HEAD.size))
        settings = {
            "acks": options.acks,
            "linger.ms": 5,
            "delivery.timeout.ms": round(options.delivery_timeout * 1000),
            "request.timeout.ms": round(min(3.0, options.delivery_timeout) * 1000),
        }
        self._producer = Producer(_common(options) | settings, logger=_SILENT)
        self._due = time.perf_counter() + random.random() * self._interval

    @task
    def send_what_is_due(self) -> None:
        while self._due <= time.perf_counter():
            self._send(self._due)
            self._due += self._interval
        self._producer.poll(0)
        gevent.sleep(min(max(self._due - time.perf_counter(), 0.0), POLL_S))

    def on_stop(self) -> None:
        """Beside the user's own greenlet: Locust stops users twice when it is interrupted, and the second time cuts this short."""
        _ENDING.append(gevent.spawn(self._end))
        _ENDING[-1].join()

    def _end(self) -> None:
        """Every message has ended when this returns: acknowledged, or failed."""
        deadline = time.perf_counter() + self._patience
        while len(self._producer) and time.perf_counter() < deadline:
            self._producer.poll(0)
            gevent.sleep(POLL_S)
        self._producer.purge()
        self._producer.poll(0)
        _in_a_thread(self._producer.close)

    def _send(self, due: float) -> None:
        late = time.perf_counter() - due
        value = _HEAD.pack(_OURS, time.time_ns() - round(late * 1e9)) + self._padding

        def report(error: KafkaError | None, message: Message) -> None:
            took = message.latency() if error is None else None
            seconds = late + took if took is not None else time.perf_counter() - due
            self._tell(seconds, len(value), None if error is None else KafkaException(error))

        try:
            self._producer.produce(self._topic, value, on_delivery=report)
        except (BufferError, KafkaException) as problem:
            self._tell(late, len(value), problem)

    def _tell(self, seconds: float, size: int, problem: Exception | None) -> None:
        _fire(self.environment, "produce", self._topic, seconds, size, problem)


class ConsumerUser(User):
    """Reads every partition from its end at the start, for itself alone: no group, nothing committed."""

    def on_start(self) -> None:
        options = _options(self.environment)
        self._topic: str = options.topic
        settings = {"group.id": "highwater-load", "enable.auto.commit": False, "check.crcs": True, "fetch.wait.max.ms": 100}
        self._consumer = Consumer(_common(options) | settings, logger=_SILENT)
        self._assigned = False

    @task
    def read(self) -> None:
        if not self._assigned and not self._assign():
            gevent.sleep(1)
            return
        messages = self._consumer.consume(AT_ONCE, timeout=0)
        now = time.time_ns()
        for message in messages:
            self._take(message, now)
        gevent.sleep(0 if messages else POLL_S)

    def on_stop(self) -> None:
        _in_a_thread(self._consumer.close)

    def _assign(self) -> bool:
        try:
            found = _in_a_thread(lambda: self._consumer.list_topics(self._topic, timeout=3)).topics[self._topic]
        except KafkaException as problem:
            _fire(self.environment, "consume", self._topic, 0.0, 0, problem)
            return False
        self._consumer.assign([TopicPartition(self._topic, part, OFFSET_END) for part in found.partitions])
        self._assigned = bool(found.partitions)
        return self._assigned

    def _take(self, message: Message, now: int) -> None:
        value, error = message.value() or b"", message.error()
        if error is not None:
            _fire(self.environment, "consume", self._topic, 0.0, 0, KafkaException(error))
        elif value.startswith(_OURS) and len(value) >= _HEAD.size:
            _fire(self.environment, "consume", self._topic, (now - _HEAD.unpack_from(value)[1]) / 1e9, len(value), None)


def _common(options: Any) -> dict[str, Any]:
    return {"bootstrap.servers": options.bootstrap_servers, "error_cb": _ignore, "reconnect.backoff.max.ms": 1000}


def _fire(environment: Environment, kind: str, topic: str, seconds: float, size: int, problem: Exception | None) -> None:
    environment.events.request.fire(
        request_type=kind, name=topic, response_time=max(seconds, 0.0) * 1000, response_length=size, exception=problem, context={}
    )


def _in_a_thread(wait: Callable[[], _T]) -> _T:
    """In a real one of gevent's pool, while the other users go on."""
    answer: _T = gevent.get_hub().threadpool.apply(wait)
    return answer


def _options(environment: Environment) -> Any:
    return environment.parsed_options


def _ignore(_error: KafkaError) -> None:
    """Brokers that cannot be reached show in what becomes of messages."""
