"""The machine the harness runs on, as a node: for clients of a cluster that somebody else runs, whom a namespace would keep from it.

Nothing here is hidden from the rest of the machine, so nothing but clients belongs here. What is started is tied to the thread that
starts it: the run's own, which lives as long as the run does.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness.nodes.node import COMMAND_TIMEOUT, CommandFailed, CommandTimedOut, Node, Process, Result
from harness.nodes.process_table import find_state, start_time
from harness.nodes.put_file import put_file
from harness.nodes.tied import tied_to_this_process

_NOT_FOUND = 127


class ThisMachine(Node):
    """Invariant: `_children` has every process that was started here, by its number, until `close`."""

    name = "client"
    address = "127.0.0.1"
    shares_files = True

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = str(folder.resolve())
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def run(
        self,
        command: Sequence[str],
        *,
        timeout: float = COMMAND_TIMEOUT,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Result:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=os.environ | dict(env or {}), cwd=self._path(cwd or ""), start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError as problem:
            return Result(_NOT_FOUND, b"", str(problem).encode())
        with process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException as problem:
                os.killpg(process.pid, signal.SIGKILL)
                if isinstance(problem, subprocess.TimeoutExpired):
                    words = " ".join(command)[:200]
                    raise CommandTimedOut(f"{words} on this machine did not end within {timeout:g} s and was killed") from None
                raise
        return Result(process.returncode, out, err)

    def start(
        self,
        command: Sequence[str],
        *,
        out: str,
        err: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Process:
        with open(self._path(out), "ab") as said, open(self._path(err or out), "ab") as complained:
            child = subprocess.Popen(
                tied_to_this_process(command), stdin=subprocess.DEVNULL, stdout=said, stderr=complained,
                env=os.environ | dict(env or {}), cwd=self._path(cwd or ""), start_new_session=True,
            )  # fmt: skip
        self._children[child.pid] = child
        started = start_time(child.pid)
        assert started is not None, "a child that nobody has waited for has a start time"
        return Process(child.pid, started)

    def signal(self, process: Process, number: signal.Signals, *, group: bool = False) -> bool:
        """A child's number is its own until it is waited for, which only we do."""
        if not self.alive(process):
            return False
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(process.pid, number)
            return True
        return False

    def state(self, process: Process) -> str | None:
        return find_state(process.pid, process.started)

    def wait(self, process: Process, timeout: float) -> int | None:
        child = self._children.get(process.pid)
        if child is None:
            raise CommandFailed(f"process {process.pid} was not started here")
        try:
            return child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def put(self, path: str, content: bytes | Path, *, mode: int = 0o644) -> None:
        put_file(Path(self._path(path)), content, mode)

    def get(self, path: str) -> bytes:
        return Path(self._path(path)).read_bytes()

    def close(self) -> None:
        """End what still runs, with all it started."""
        for child in self._children.values():
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        self._children.clear()

    def _path(self, path: str) -> str:
        return os.path.join(self.folder, path)
