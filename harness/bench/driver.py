"""The clients of a benchmark as processes of their own: librdkafka behind a C driver where a compiler is at hand, else behind Python.

The C driver is compiled when a run begins, against the librdkafka inside the confluent-kafka wheel: no header, no system
package but the compiler. Both drivers take the same arguments and print the same JSON, and a report says which it was: through
Python the client is the limit, not the broker.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.bench.raw_driver import RawTask
from harness.errors import EnvironmentFault
from harness.nodes.tied import tied_to_this_process

SOURCE = Path(__file__).with_name("driver.c")
ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client did between its warm-up and the last answer."""

    messages: int
    bytes: int
    warmup: int
    """Messages sent before, one a partition from each producer."""
    seconds: float
    cpu_seconds: float
    errors: int
    first_error: str
    busiest_thread_seconds: float = 0.0
    waited_seconds: float = 0.0
    """How long a producer on average could only wait, for room or for the last answers: one that never waits is the limit itself."""
    behind: int = 0
    """Messages that were not on every replica when the last was acknowledged. Told, like the next, of a load that asks for it."""
    replicated_seconds: float = 0.0
    """Until they were."""
    received: int = 0
    """By the consumers of an exchange."""

    @property
    def mb_per_s(self) -> float:
        return self.bytes / self.seconds / 1e6 if self.seconds else 0.0

    @property
    def messages_per_s(self) -> float:
        return self.messages / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Target:
    brokers: str
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Load:
    """`rate`: messages a second, 0: as fast as possible, and then at least so many. `conf`: settings of librdkafka by their names."""

    size: int
    count: int
    seconds: float
    conf: Mapping[str, str | int]
    rate: float = 0.0
    deliveries: Path | None = None
    received: Path | None = None
    payload: Path | None = None
    """A file of which messages are stretches; without it all are the same."""
    least: int = 0
    producers: int = 1
    consumers: int = 1
    replicated: bool = False
    """Whether it is waited for until every replica has everything."""


@dataclass(frozen=True, slots=True)
class Driver:
    name: str
    command: tuple[str, ...]

    def produce(self, target: Target, load: Load) -> Outcome:
        return finish(self.start_produce(target, load))

    def start_produce(self, target: Target, load: Load) -> subprocess.Popen[str]:
        return start(self.produce_command(target, load))

    def consume(self, target: Target, count: int, conf: Mapping[str, str | int]) -> Outcome:
        """From the beginning of every partition until so many messages were read."""
        return finish(start(self.consume_command(target, count, conf)))

    def produce_command(self, target: Target, load: Load) -> list[str]:
        """Where it is to be told when messages were received, they are read as well, while they are written."""
        mode = "exchange" if load.received is not None else "produce"
        numbers = {name: getattr(load, name) for name in ("size", "count", "seconds", "rate", "least", "producers", "consumers")}
        files = {name: getattr(load, name) for name in ("deliveries", "received", "payload") if getattr(load, name) is not None}
        return self._command(mode, target, {**numbers, **files, "replicated": int(load.replicated)}, load.conf)

    def consume_command(self, target: Target, count: int, conf: Mapping[str, str | int], consumers: int = 1) -> list[str]:
        return self._command("consume", target, {"count": count, "consumers": consumers}, conf)

    def _command(self, mode: str, target: Target, task: Mapping[str, object], conf: Mapping[str, str | int]) -> list[str]:
        where = {"brokers": target.brokers, "topic": target.topic, "partitions": target.partitions}
        words = {**where, **task, **{f"conf.{name}": value for name, value in conf.items()}}
        return [*self.command, mode, *(f"{name}={value}" for name, value in words.items())]


def make_driver(directory: Path) -> Driver:
    compiler, library = shutil.which("gcc") or shutil.which("cc"), find_librdkafka()
    if compiler is not None and library is not None:
        binary = directory / "driver"
        build = [compiler, "-O2", "-Wall", "-pthread", "-o", str(binary), str(SOURCE), str(library), f"-Wl,-rpath,{library.parent}"]
        if subprocess.run(build, capture_output=True).returncode == 0:
            return Driver("librdkafka, C driver", (str(binary),))
    return python_driver()


def python_driver() -> Driver:
    return Driver(
        "librdkafka through Python, for want of a C compiler: it is the limit", (sys.executable, "-m", "harness.bench.python_driver")
    )


def find_librdkafka() -> Path | None:
    """The library inside the confluent-kafka wheel."""
    package = find_spec("confluent_kafka")
    if package is None or package.origin is None:
        return None
    return next(iter(sorted(Path(package.origin).parent.with_name("confluent_kafka.libs").glob("librdkafka*.so*"))), None)


def drive_raw(task: RawTask) -> dict[str, Any]:
    arguments = [f"{field.name}={getattr(task, field.name)}" for field in fields(task)]
    return result_of(start([sys.executable, "-m", "harness.bench.raw_driver", *arguments]))


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    """It ends with us, however we end."""
    return subprocess.Popen(tied_to_this_process(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def finish(process: subprocess.Popen[str]) -> Outcome:
    return outcome_of(result_of(process))


def outcome_of(answer: Mapping[str, Any]) -> Outcome:
    return Outcome(**{name: value for name, value in answer.items() if name != "mode"})


def result_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON it prints; its own words where it fails."""
    try:
        out, err = process.communicate(timeout=_PATIENCE_S * 3)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        words = [line for line in err.splitlines() if line.strip()]
        raise EnvironmentFault(f"the benchmark's client ended with {process.returncode}: {words[-1] if words else 'without a word'}")
    answer: dict[str, Any] = json.loads(out)
    return answer
