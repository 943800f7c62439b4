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
    """Messages sent before, one a partition."""
    seconds: float
    cpu_seconds: float
    errors: int
    first_error: str

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
    """`rate`: messages a second, 0: as fast as possible. `conf`: settings of librdkafka by their names."""

    size: int
    count: int
    seconds: float
    conf: Mapping[str, str | int]
    rate: float = 0.0
    deliveries: Path | None = None


@dataclass(frozen=True, slots=True)
class Driver:
    name: str
    command: tuple[str, ...]

    def produce(self, target: Target, load: Load) -> Outcome:
        return finish(self.start_produce(target, load))

    def start_produce(self, target: Target, load: Load) -> subprocess.Popen[str]:
        arguments = [f"size={load.size}", f"count={load.count}", f"seconds={load.seconds}", f"rate={load.rate}"]
        if load.deliveries is not None:
            arguments.append(f"deliveries={load.deliveries}")
        return self._start("produce", target, [*arguments, *(f"conf.{name}={value}" for name, value in load.conf.items())])

    def consume(self, target: Target, count: int, conf: Mapping[str, str | int]) -> Outcome:
        """From the beginning of every partition until so many messages were read."""
        return finish(self._start("consume", target, [f"count={count}", *(f"conf.{name}={value}" for name, value in conf.items())]))

    def _start(self, mode: str, target: Target, arguments: Sequence[str]) -> subprocess.Popen[str]:
        where = [f"brokers={target.brokers}", f"topic={target.topic}", f"partitions={target.partitions}"]
        return start([*self.command, mode, *where, *arguments])


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
    answer = result_of(process)
    answer.pop("mode")
    return Outcome(**answer)


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
