"""What brokers told of themselves, as events: lines of their logs that are JSON with an `event`, on the run's time.

A line carries the broker's monotonic clock, which is the run's where nodes share our kernel; elsewhere its time stays unknown, because
wall clocks are what faults play with. What is no JSON (a stack trace, a JVM's words) stays in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.history.beside import Event

_OF_THE_LINE = ("level", "mono_ns", "wall_ms", "node", "event", "topic", "part", "epoch")
_INT32 = 2**31


def events_in(log: Path, node: str, base_ns: int | None) -> Iterator[Event]:
    """In the order of the lines. No base: the node's clock is not ours."""
    with open(log, "rb") as lines:
        for line in lines:
            if line.startswith(b"{") and (event := _event(line, node, base_ns)) is not None:
                yield event


def _event(line: bytes, node: str, base_ns: int | None) -> Event | None:
    try:
        told = json.loads(line)
        name = told["event"]
    except (ValueError, KeyError, TypeError):
        return None
    detail = {key: value for key, value in told.items() if key not in _OF_THE_LINE}
    epoch = told.get("epoch")
    if not _fits(epoch):
        detail["epoch"], epoch = epoch, None
    t = told["mono_ns"] - base_ns if base_ns is not None and isinstance(told.get("mono_ns"), int) else None
    return Event(t, node, str(name), told.get("topic"), told.get("part"), epoch, _as_json(detail))


def _fits(epoch: object) -> bool:
    return epoch is None or (isinstance(epoch, int) and -_INT32 <= epoch < _INT32)


def _as_json(detail: Mapping[str, Any]) -> str | None:
    return json.dumps(detail) if detail else None
