"""The JVM in which Spark's driver lives: started, connected to, and gone when we are.

It reads from a pipe that only we write to, and ends when that pipe closes: however we end, by a return, an exception or SIGKILL, the kernel
closes it. Its Python workers in turn read from a pipe of the JVM's. It has a process group of its own, so that Ctrl-C reaches us first.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from analysis.spark.errors import SparkTrouble

START_LIMIT_S = 180.0
END_LIMIT_S = 60.0


class Jvm:
    """A JVM of ours. It tells its port and a secret in a file; `connect` is py4j's gateway to it."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._told = folder / "connection"
        self._output = folder / "jvm.log"
        given = {**environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told), "SPARK_CONNECT_MODE": "0"}
        with open(self._output, "wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=given, process_group=0
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def connect(self) -> Any:
        """Wait until it listens."""
        deadline = time.monotonic() + START_LIMIT_S
        while not self._told.exists():
            if self._process.poll() is not None:
                raise SparkTrouble(f"Java ended with {self._process.returncode} before Spark was up: {last_line(self._output)}")
            if time.monotonic() > deadline:
                raise SparkTrouble(f"Java did not bring up Spark within {START_LIMIT_S:.0f} s: {last_line(self._output)}")
            time.sleep(0.01)
        return _connect(*_read_told(self._told))

    def end(self) -> bool:
        """Whether it ended by itself and well."""
        return end_process(self._process)


def end_process(process: subprocess.Popen[bytes]) -> bool:
    """Close the pipe it lives by, and wait; one that does not go is killed."""
    _close_quietly(process.stdin)
    try:
        return process.wait(END_LIMIT_S) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


@contextmanager
def environment_of_driver(**given: str) -> Iterator[None]:
    """pyspark takes some settings from the environment alone; they are ours only while it looks."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def last_line(log: Path) -> str:
    """What it said last, for the one line a user gets to see."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        lines = []
    return next((line for line in reversed(lines) if line and not line.startswith("at ")), "it said nothing")


def _connect(port: int, secret: str) -> Any:
    from pyspark.java_gateway import launch_gateway

    with environment_of_driver(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
        return launch_gateway()  # type: ignore[no-untyped-call]


def _read_told(told: Path) -> tuple[int, str]:
    """The file appears whole: Java writes it aside and renames it."""
    content = told.read_bytes()
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()


def _close_quietly(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return
