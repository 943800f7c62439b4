"""The node clients run on: which Python there, where our code and the run's files lie, and what its clock has to do with ours.

A namespace shares our files, so workers record straight into the run's folder. Any other node gets a copy of the code and records in its
own folder, and what was recorded is fetched when the clients have ended.

Times of a run are one machine's monotonic clock. A container has ours; another host has its own, whose distance is measured and taken off:
good to some milliseconds, and said in the run's plan.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import Node, Process, Result
from harness.systems.broker_questions import python_of

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("workloads", "harness/history")
_SAMPLES = 5
_FETCH_TIMEOUT = 600.0


class ClientNode:
    """`node`, and how our programs run there."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def install(self) -> None:
        if not self.node.shares_files:
            self.node.run(["tar", "-xzf", "-"], input=_source()).require("installing the clients")
            needed = "import confluent_kafka, crc32c, numpy, pyarrow"
            self.run_python(needed).require(f"finding what clients need on node {self.node.name}")

    def recording_folder(self, run: Path) -> str:
        return str(run) if self.node.shares_files else f"{self.node.folder}/run"

    def run_python(self, program: str, *arguments: str, timeout: float = 60.0) -> Result:
        return self.node.run([python_of(self.node), "-c", program, *arguments], timeout=timeout, env=self._environment)

    def start_module(self, module: str, arguments: Sequence[str], *, out: str, err: str, commands: str | None = None) -> Process:
        """With `commands`, a pipe of that name in the node's folder is its standard input, open as long as it lives."""
        command = [python_of(self.node), "-m", module, *arguments]
        if commands is not None:
            self.node.run(["mkfifo", commands]).require(f"making a pipe on node {self.node.name}")
            command = ["sh", "-c", 'exec "$@" <>"$0"', commands, *command]
        return self.node.start(command, out=out, err=err, env=self._environment)

    def fetch(self, run: Path) -> None:
        """What was recorded here, into the run's folder."""
        if self.node.shares_files:
            return
        packed = self.node.run(["tar", "-czf", "-", "-C", f"{self.node.folder}/run", "."], timeout=_FETCH_TIMEOUT)
        with tarfile.open(fileobj=io.BytesIO(packed.require("fetching what the clients recorded")), mode="r:gz") as archive:
            archive.extractall(run, filter="data")

    @property
    def _environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(_ROOT) if self.node.shares_files else self.node.folder}


def clock_ahead(node: Node) -> int:
    """By how many ns the node's monotonic clock is ahead of ours; 0 where it may be the same one."""
    if node.shares_files:
        return 0
    least, most = -(2**62), 2**62
    for _ in range(_SAMPLES):
        before = time.monotonic_ns()
        told = node.run([python_of(node), "-c", "import time; print(time.monotonic_ns())"])
        after = time.monotonic_ns()
        try:
            theirs = int(told.require(f"asking node {node.name} for the time"))
        except ValueError:
            raise EnvironmentFault(f"node {node.name} does not tell the time") from None
        least, most = max(least, theirs - after), min(most, theirs - before)
    return 0 if least <= 0 <= most else (least + most) // 2


def _source() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for package in _PACKAGES:
            for path in sorted((_ROOT / package).rglob("*.py")):
                archive.add(path, path.relative_to(_ROOT).as_posix())
    return buffer.getvalue()
