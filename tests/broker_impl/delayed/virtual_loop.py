"""A loop with a clock one turns by hand: just what a timer needs of an event loop."""

import asyncio
from collections.abc import Callable
from typing import Any, cast


class VirtualHandle:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class VirtualLoop:
    def __init__(self, start: float = 1234.567) -> None:
        self.now = start
        self.armed: list[VirtualHandle] = []
        self.failures: list[dict[str, Any]] = []

    def as_loop(self) -> asyncio.AbstractEventLoop:
        return cast(asyncio.AbstractEventLoop, self)

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> VirtualHandle:
        handle = VirtualHandle(when, callback)
        self.armed = [other for other in self.armed if not other.cancelled] + [handle]
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(context)

    def pending(self) -> list[VirtualHandle]:
        return [handle for handle in self.armed if not handle.cancelled]

    def pass_time(self, seconds: float) -> None:
        """Runs what comes due on the way, each at its time."""
        end = self.now + seconds
        while (ready := [handle for handle in self.pending() if handle.when <= end]) != []:
            first = min(ready, key=lambda handle: handle.when)
            self.armed.remove(first)
            self.now = max(self.now, first.when)
            first.callback()
        self.now = end
