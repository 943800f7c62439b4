"""What became of each message of a run, and what follows from it: latencies and the longest silence. Pure.

A driver writes three 64-bit integers a message: when it was due, when it was acknowledged, both in microseconds of the
machine's monotonic clock, and its error. Latency counts from when a message was *due*: counted from when it was sent, the
messages that a stall held back would look fast.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_FIELDS = 3


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Of the messages that were acknowledged, in the order they were sent; `failed` counts the others."""

    due_us: Sequence[int]
    acked_us: Sequence[int]
    failed: int

    @property
    def latencies_ms(self) -> list[float]:
        return [(acked - due) / 1000 for due, acked in zip(self.due_us, self.acked_us, strict=True)]


def read_deliveries(path: Path) -> Deliveries:
    numbers = array("q", path.read_bytes())
    rows = list(zip(numbers[0::_FIELDS], numbers[1::_FIELDS], numbers[2::_FIELDS], strict=True))
    good = [(due, acked) for due, acked, error in rows if acked and not error]
    return Deliveries([due for due, _acked in good], [acked for _due, acked in good], len(rows) - len(good))


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest value that at least this share of all values does not exceed."""
    if not values:
        return math.nan
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def longest_silence_ms(acked_us: Sequence[int], from_us: int) -> float:
    """The longest time without an acknowledgement that ended after `from_us`; NaN where none came after it."""
    times = sorted(acked_us)
    gaps = [later - earlier for earlier, later in pairwise(times) if later > from_us]
    return max(gaps) / 1000 if gaps else math.nan
