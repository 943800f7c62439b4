"""The broker's log: one JSON object a line, with level, both clocks and an event name that a machine can look for.

Event names (`leader-changed`, `isr-shrunk`, `epoch-fenced`, …) are part of the broker's outer contract: whoever
watches a cluster counts on them. A broken standard output never stops the broker.
"""

import sys
import traceback
from typing import Any, TextIO

import msgspec

from broker_impl.machine import clock

LEVELS = ("debug", "info", "warning", "error")


class Journal:
    def __init__(self, node: int, stream: TextIO | None = None, level: str = "info") -> None:
        self._node = node
        self._stream = sys.stdout if stream is None else stream
        self._threshold = LEVELS.index(level)

    def debug(self, event: str, **facts: Any) -> None:
        self._write("debug", event, facts)

    def info(self, event: str, **facts: Any) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._write("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        self._write("error", event, facts)

    def failure(self, event: str, problem: BaseException) -> None:
        """An error of our own, with the trace that finds it."""
        trace = "".join(traceback.format_exception(problem)).strip().splitlines()
        self._write("error", event, {"why": repr(problem), "trace": trace})

    def _write(self, level: str, event: str, facts: dict[str, Any]) -> None:
        if LEVELS.index(level) < self._threshold:
            return
        line = {"level": level, "mono_ns": clock.monotonic_ns(), "wall_ms": clock.wall_ms(), "node": self._node, "event": event}
        text = msgspec.json.encode(line | facts, enc_hook=repr).decode()
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            return
