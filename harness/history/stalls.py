"""The harness watches itself: when a process of ours could not run, nothing that happened then is the broker's fault.

A thread of every worker and of the harness beats at a short interval; a beat that comes late by more than 50 ms is a stall, whatever held
it: the machine, a stopped process, the interpreter's lock. Each is one line in `stalls/`, written at once, so that it
survives its process. The analysis gets them as events named `harness-stalled`; one of more than 500 ms inside a gap of
service makes that gap "cannot tell".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from types import TracebackType

from harness.history.beside import Event
from harness.history.errors import MalformedFile

INTERVAL_S = 0.025
LATE_NS = 50_000_000
MATTERS_NS = 500_000_000
EVENT = "harness-stalled"


@dataclass(frozen=True, slots=True)
class Stall:
    """`who` could not run from `start` to `end`, ns since the run began."""

    who: str
    start: int
    end: int

    @property
    def matters(self) -> bool:
        return self.end - self.start > MATTERS_NS


class Beats:
    """Finds the late beats. Pure."""

    def __init__(self, who: str, now: int, interval_s: float = INTERVAL_S) -> None:
        self._who = who
        self._last = now
        self._allowed = LATE_NS + int(interval_s * 1e9)

    def beat(self, now: int) -> Stall | None:
        last, self._last = self._last, now
        return Stall(self._who, last, now) if now - last > self._allowed else None


class StallWatch:
    """Beats on a thread of its own until closed. `clock` gives ns since the run began."""

    def __init__(self, run: Path, who: str, clock: Callable[[], int], interval_s: float = INTERVAL_S) -> None:
        self._path = run / "stalls" / f"{who}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._interval_s = interval_s
        self._beats = Beats(who, clock(), interval_s)
        self._over = Signal()
        self._thread = Thread(target=self._watch, name="stalls", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def __enter__(self) -> StallWatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _watch(self) -> None:
        with open(self._path, "a", buffering=1) as file:
            while True:
                over = self._over.wait(self._interval_s)
                if stall := self._beats.beat(self._clock()):
                    file.write(json.dumps([stall.who, stall.start, stall.end]) + "\n")
                if over:
                    return


def read_stalls(run: Path) -> list[Stall]:
    """Of all processes, by time. A last line cut off by a kill is left out."""
    found = [stall for path in sorted((run / "stalls").glob("*.jsonl")) for stall in _read(path)]
    return sorted(found, key=lambda stall: (stall.start, stall.end, stall.who))


def stall_events(run: Path) -> list[Event]:
    """For events.parquet: at the time the stall began, with its end in the detail."""
    return [Event(stall.start, stall.who, EVENT, None, None, None, json.dumps({"end": stall.end})) for stall in read_stalls(run)]


def _read(path: Path) -> list[Stall]:
    try:
        return [Stall(*json.loads(line)) for line in path.read_text().split("\n")[:-1]]
    except (ValueError, TypeError):
        raise MalformedFile(path, "is not a list of stalls") from None
