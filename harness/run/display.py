"""What a person sees of a run: lines that stay, and a view of the moment.

The run says both to a `Display` and does not know which one it is. Plain lines are for files, pipes and `--quiet`; the view is printed
there every ten seconds. The live one is in `live_display`, so that nobody pays for its library without a terminal.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class View:
    """The moment. `ends`: monotonic seconds at which the phase is to be over; rates are a second; `leaders`: partitions led, by node."""

    phase: str
    ends: float | None = None
    sends: Counter[str] = field(default_factory=Counter)
    send_rates: Mapping[str, float] = field(default_factory=dict)
    reads: int = 0
    read_rate: float = 0.0
    behind: float = 0.0
    faults: tuple[str, ...] = ()
    leaders: Mapping[str, int] = field(default_factory=dict)
    controller: str | None = None
    note: str = ""

    @property
    def left(self) -> float | None:
        return None if self.ends is None else max(self.ends - time.monotonic(), 0.0)


class Display(Protocol):
    wants_leaders: bool
    """Whether asking the brokers is worth it."""

    def line(self, text: str) -> None:
        """Something that happened."""

    def show(self, view: View) -> None:
        """How it stands; called about once a second."""

    def close(self) -> None: ...


class PlainLines:
    """Each line with the seconds since the display was made."""

    wants_leaders = False

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began = time.monotonic()
        self._next = 0.0
        self._phase = ""

    def line(self, text: str) -> None:
        self._write(f"{time.monotonic() - self._began:7.1f} s  {text}")

    def show(self, view: View) -> None:
        now = time.monotonic()
        if view.phase != self._phase:
            self._phase, self._next = view.phase, now + EVERY_S
        elif now >= self._next:
            self._next = now + EVERY_S
            self.line(in_words(view))

    def close(self) -> None:
        pass


def in_words(view: View) -> str:
    words = [view.phase]
    if view.left:
        words.append(f"{view.left:.0f} s left")
    if view.send_rates:
        words.append(", ".join(f"{rate:.0f} {name}/s" for name, rate in view.send_rates.items() if rate or name == "ok"))
        words.append(f"{view.read_rate:.0f} read/s")
    if view.faults:
        words.append("under way: " + ", ".join(view.faults))
    if view.note:
        words.append(view.note)
    return "; ".join(words)
