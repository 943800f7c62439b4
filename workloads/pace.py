"""When the sends of an open loop are due.

The times are fixed by the rate alone. A worker that was held up sends what is overdue at once, each with the time it was due: latency
counted from there includes the wait, which is what a user would have felt.
"""

from __future__ import annotations

_NS = 1_000_000_000


class Pace:
    """Times in ns. `shift`, a share of one interval, keeps the workers of a run from sending in step."""

    def __init__(self, rate: float, start: int, shift: float = 0.0) -> None:
        if rate <= 0:
            raise ValueError(f"a rate is more than 0, not {rate}")
        self._rate = rate
        self._start = start + round(shift * _NS / rate)
        self._taken = 0
        self.due = self._start
        """Of the next send."""

    def take(self, now: int) -> int | None:
        """The time a send was due, if one is."""
        if self.due > now:
            return None
        due = self.due
        self._taken += 1
        self.due = self._start + round(self._taken * _NS / self._rate)
        return due
