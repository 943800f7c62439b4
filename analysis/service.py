"""Service as a partition gives it: the times in which no send was acknowledged, and what each fault made of them.

A gap lies between two acknowledgements, from the first attempt to the first of them, or from the last to the last attempt: a partition
that nobody writes to is not away. A fault's unavailability is the longest gap that overlaps it; its recovery the time from its end
until the last partition that was without service then has it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from analysis.columns import Numbers
from harness.history.beside import Fault

SHORTEST_NS = 250_000_000
KEPT = 1000
"""Gaps of one history that are remembered, the longest."""


@dataclass(frozen=True, slots=True)
class Gap:
    """`end` is the acknowledgement that ended it, or the last attempt of a partition that had none any more (`open`)."""

    topic: str
    part: int
    start: int
    end: int
    open: bool = False

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Effect:
    """Of one fault, ns; `recovery` is None where service had not returned when the history ended, or the fault never ended."""

    fault: int
    unavailable: int
    recovery: int | None
    partitions: int


def longest(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(nlargest(KEPT, gaps, key=lambda gap: (gap.length, -gap.start, gap.topic, gap.part)))


def gaps_of(topic: str, part: int, invoked: Numbers, acknowledged: Numbers) -> Iterator[Gap]:
    """`invoked`: of every send to the partition. `acknowledged`: when, of those that were."""
    if not len(invoked):
        return
    first, last = int(invoked.min()), int(invoked.max())
    times = np.concatenate([[first], np.sort(acknowledged, kind="stable")])
    lengths = np.diff(times)
    for place in np.flatnonzero(lengths >= SHORTEST_NS):
        yield Gap(topic, part, int(times[place]), int(times[place + 1]))
    if last - int(times[-1]) >= SHORTEST_NS:
        yield Gap(topic, part, int(times[-1]), last, open=True)


def effects(faults: Sequence[Fault], gaps: Sequence[Gap]) -> list[Effect]:
    """One a fault that took place, in their order."""
    return [_effect(fault, gaps) for fault in faults if fault.start is not None]


def _effect(fault: Fault, gaps: Sequence[Gap]) -> Effect:
    assert fault.start is not None
    end = fault.end
    during = [gap for gap in gaps if gap.end > fault.start and (end is None or gap.start < end)]
    worst = max((gap.length for gap in during), default=0)
    if end is None:
        return Effect(fault.id, worst, None, len(during))
    after = [gap for gap in during if gap.end > end]
    recovery = None if any(gap.open for gap in after) else max((gap.end - end for gap in after), default=0)
    return Effect(fault.id, worst, recovery, len({(gap.topic, gap.part) for gap in during}))
