"""plan.json: everything needed to run it again, and what the settings promise.

What a history does not state is null here, and the analysis says what it assumed instead. A mistake is named with file and field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from harness.history.errors import MalformedFile
from harness.history.files import write_atomically
from harness.history.schema import DEFAULT_BUCKETS, VERSION

PLAN_FILE = "plan.json"

_WORDS = {
    "acks": ("0", "1", "all"),
    "isolation": ("read_uncommitted", "read_committed"),
    "assignment": ("assign", "subscribe"),
}
_NUMBERS = ("replicas", "min_insync", "in_flight")


@dataclass(frozen=True, slots=True)
class Promises:
    """What the settings promise; null where nobody said.

    `unclean`: a replica outside the ISR may be elected. `flush`: acknowledged means flushed to disk. `in_flight`: requests a connection.
    `progress`: service is promised wherever a quorum and enough replicas can reach each other and the clients.
    """

    acks: str | None = None
    replicas: int | None = None
    min_insync: int | None = None
    unclean: bool | None = None
    flush: bool | None = None
    idempotence: bool | None = None
    in_flight: int | None = None
    isolation: str | None = None
    assignment: str | None = None
    progress: bool | None = None


@dataclass(frozen=True, slots=True)
class ClockPair:
    """One moment on two clocks: ns since the run began, ns since 1970."""

    monotonic: int
    wall: int


@dataclass(frozen=True, slots=True)
class Plan:
    """`began` is CLOCK_MONOTONIC at the run's time zero, for processes that have to join it. `scenario` is the runner's own."""

    seed: int
    promises: Promises
    began: int = 0
    clocks: tuple[ClockPair, ...] = ()
    buckets: int = DEFAULT_BUCKETS
    scenario: Mapping[str, Any] = field(default_factory=dict)


def write_plan(run: Path, plan: Plan) -> None:
    content = {"version": VERSION} | asdict(plan)
    write_atomically(run / PLAN_FILE, (json.dumps(content, indent=2) + "\n").encode())


def read_plan(run: Path) -> Plan:
    path = run / PLAN_FILE
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        raise MalformedFile(path, f"cannot be read: {problem}") from None
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise MalformedFile(path, f"is not a plan of version {VERSION}")
    try:
        clocks = tuple(ClockPair(pair["monotonic"], pair["wall"]) for pair in content["clocks"])
        promises = parse_promises(content["promises"])
        return Plan(content["seed"], promises, content["began"], clocks, content["buckets"], content["scenario"])
    except ValueError as problem:
        raise MalformedFile(path, f"promises: {problem}") from None
    except (KeyError, TypeError) as problem:
        raise MalformedFile(path, f"has no sound field {problem}") from None


def parse_promises(content: Mapping[str, Any]) -> Promises:
    """ValueError names the field and what it may be."""
    known = [one.name for one in fields(Promises)]
    for name, value in content.items():
        if name not in known:
            raise ValueError(f"there is no promise {name}; there is: {', '.join(known)}")
        if value is not None and (wanted := _wanted(name, value)):
            raise ValueError(f"{name} is {value!r}; it may be {wanted}")
    return Promises(**content)


def _wanted(name: str, value: object) -> str | None:
    """What the value should have been, or None where it is right."""
    if name in _WORDS:
        return None if value in _WORDS[name] else " or ".join(_WORDS[name])
    if name in _NUMBERS:
        return None if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else "a number from 1"
    return None if isinstance(value, bool) else "true or false"
