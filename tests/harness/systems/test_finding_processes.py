"""A broker is found by its command line, and nobody else is: not even those who look for it at the same time."""

import subprocess
import sys
from collections.abc import Iterator
from typing import cast

import pytest

from harness.nodes import Node, Result
from harness.systems.broker_questions import find_process

WANTED = "/nowhere/of/this/test/broker.properties"
SLEEP = "import time; time.sleep(600)"


class Watched:
    """This machine as a node, which keeps another looker busy while one looks."""

    shares_files = True

    def run(self, command: list[str], *, timeout: float, **_: object) -> Result:
        flags = command[1 : command.index("-c")]
        with running([command[0], *flags, "-c", SLEEP, *command[command.index("-c") + 2 :]]):
            done = subprocess.run(command, capture_output=True, timeout=timeout)
        return Result(done.returncode, done.stdout, done.stderr)


class running:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command)

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def broker() -> Iterator[subprocess.Popen[bytes]]:
    with running([sys.executable, "-c", SLEEP, WANTED]) as process:
        yield process


def test_the_process_with_the_argument_is_found(broker):
    seen = find_process(cast(Node, Watched()), WANTED)
    assert seen is not None and seen.process.pid == broker.pid


def test_lookers_do_not_find_each_other():
    assert find_process(cast(Node, Watched()), WANTED) is None
