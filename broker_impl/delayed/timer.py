"""The timing wheel driven by the event loop.

A `loop.call_at` for every parked request would fill the loop's own heap with cancelled handles; here the loop knows one
timer, armed for the first bucket of the wheel. With constant time-outs a new deadline is nearly always later than
the armed one, so scheduling does not touch the loop at all.

The trap: two callbacks due in the same turn, the first of which cancels the second.
"""

import asyncio
import math
from collections.abc import Callable

from broker_impl.delayed.wheel import TimerEntry, TimingWheel

_ROUNDING_MS = 1e-3
"""Seconds as floats times 1000 land a hair beside whole milliseconds; a microsecond of tolerance keeps a timer from firing twice."""


class LoopTimer:
    """Invariant: while the wheel holds entries, the loop is armed for a time not later than the earliest deadline."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wheel: TimingWheel[Callable[[], None]] = TimingWheel(now_ms=self._now_ms())
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    def schedule(self, delay_s: float, callback: Callable[[], None]) -> TimerEntry[Callable[[], None]]:
        """Hot path (every parked request). The callback runs on the loop, never before the delay is over and never inside this call."""
        deadline_ms = math.ceil((self._loop.time() + delay_s) * 1000 - _ROUNDING_MS)
        entry = self._wheel.add(deadline_ms, callback)
        if self._handle is None or deadline_ms < self._armed_ms:
            self._arm(deadline_ms)
        return entry

    def close(self) -> None:
        """Nothing fires any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        for entry in self._wheel.advance(self._now_ms()):
            if not entry.cancelled:
                self._run(entry.item)
        deadline_ms = self._wheel.next_deadline_ms()
        if deadline_ms is not None and (self._handle is None or deadline_ms < self._armed_ms):
            self._arm(deadline_ms)

    def _run(self, callback: Callable[[], None]) -> None:
        """A callback that fails must not take the others of its tick with it."""
        try:
            callback()
        except Exception as error:
            self._loop.call_exception_handler({"message": "a timer's callback failed", "exception": error})

    def _arm(self, deadline_ms: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed_ms = deadline_ms
        self._handle = self._loop.call_at(deadline_ms / 1000, self._fire)

    def _now_ms(self) -> int:
        return math.floor(self._loop.time() * 1000 + _ROUNDING_MS)
