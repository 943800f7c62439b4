"""One worker as a process, at full speed for some seconds: how many sends a second were acknowledged.

It says so itself, a line of counts a second; the rate is taken between the first line with an acknowledgement and the last before it was
told to stop, so neither its start nor its end is in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentFault
from harness.nodes.tied import tied_to_this_process

RECORDED, UNRECORDED = "workloads.worker", "harness.bench.verified.unrecorded_worker"
_ROOT = Path(__file__).resolve().parents[3]
_START_PATIENCE_S = 60.0
_END_PATIENCE_S = 120.0


def time_worker(module: str, plan: Path, worker: int, seconds: float) -> float:
    """Acknowledged a second."""
    process = _start(module, plan, worker)
    lines = _Lines(process)
    try:
        first = lines.until(lambda line: line["sends"]["ok"] > 0, _START_PATIENCE_S)
        last = lines.until(lambda line: line["t"] >= first["t"] + seconds * 1e9, seconds + _START_PATIENCE_S)
        _tell(process, "stop\n")
        lines.until(lambda line: line["state"] == "ended", _END_PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    rate: float = (last["sends"]["ok"] - first["sends"]["ok"]) / ((last["t"] - first["t"]) / 1e9)
    return rate


def run_module(module: str, arguments: Sequence[str], patience_s: float) -> int:
    done = subprocess.run([sys.executable, "-m", module, *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=patience_s)
    if done.returncode == 255:
        raise EnvironmentFault(f"{module}: {done.stderr.strip() or 'ended without a word'}")
    return done.returncode


class _Lines:
    """What the worker says, read as it comes by a thread of its own: a pipe that nobody reads would hold it up."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._over = False
        threading.Thread(target=self._read, daemon=True).start()

    def until(self, found: Callable[[dict[str, Any]], bool], patience_s: float) -> dict[str, Any]:
        """The first line of which it is true."""
        deadline = time.monotonic() + patience_s
        with self._news:
            while (line := next((each for each in self._lines if found(each)), None)) is None:
                if self._over or not self._news.wait(max(deadline - time.monotonic(), 0)):
                    raise EnvironmentFault(f"the benchmark's worker {self._last_words()}")
        return line

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            with self._news:
                self._lines.append(json.loads(text))
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def _last_words(self) -> str:
        if not self._over:
            return "did nothing for too long; are the brokers up?"
        assert self._process.stderr is not None
        return f"ended before its time: {self._process.stderr.read().strip() or 'without a word'}"


def _start(module: str, plan: Path, worker: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, "--plan", str(plan), "--worker", str(worker)]
    pipe = subprocess.PIPE
    return subprocess.Popen(tied_to_this_process(command), stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=_ROOT)


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()
