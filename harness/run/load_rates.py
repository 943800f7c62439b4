"""From counts that only grow to what happens a second."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from harness.run.display import View
from harness.run.workers import LoadCounts

_SHOWN = ("ok", "fail", "info", "open")


@dataclass(slots=True)
class LoadRates:
    """`last` is what was counted at `_at`, monotonic seconds."""

    last: LoadCounts = field(default_factory=LoadCounts)
    _at: float = field(default_factory=time.monotonic)

    def view(self, counts: LoadCounts, phase: str, ends: float, faults: tuple[str, ...]) -> View:
        now = time.monotonic()
        seconds = max(now - self._at, 0.001)
        rates = {name: (counts.sends[name] - self.last.sends[name]) / seconds for name in _SHOWN if name != "open"}
        read_rate = (counts.messages - self.last.messages) / seconds
        self.last, self._at = counts, now
        shown = {name: max(rate, 0.0) for name, rate in rates.items()}
        return View(phase, ends, counts.sends, shown, counts.messages, max(read_rate, 0.0), counts.behind, faults)
