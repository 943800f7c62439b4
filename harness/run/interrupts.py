"""Ctrl-C, twice: the first asks a run to end in order, the second to leave at once.

The first raises KeyboardInterrupt where the run stands, and from then on nothing does: what heals and collects must not be torn. A
terminal that is closed and a polite kill are the same request.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, TracebackType

from harness.run.outcome import INTERRUPTED

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Listens while it is entered, in the main thread. `ending`: the run heals and collects, and may only be left, not interrupted."""

    def __init__(self) -> None:
        self.ending = False
        self.farewell = ""
        self._asked = False
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | signal.Handlers | None] = {}

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._on_signal) for number in _ASKING}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            os.write(sys.stderr.fileno(), f"\x1b[?25h\nhighwater: left at once; {self.farewell}\n".encode())
            os._exit(INTERRUPTED)
        self._asked = True
        if not self.ending:
            raise KeyboardInterrupt
        os.write(sys.stderr.fileno(), b"\nthe run is ending already; once more leaves at once\n")
