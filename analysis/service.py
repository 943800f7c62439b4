"""Service as a partition gives it: the times in which no send was acknowledged, and what each fault made of them.

A gap is a time in which sends to a partition were under way and none of them was acknowledged: it begins with the last acknowledgement, or
with the first send behind it where none was left then. A partition that nobody writes to is not away. A fault's unavailability is the
longest gap that overlaps it; its recovery the time from its end until the last partition that was without service then has it again.
Faults that were at work meanwhile are named, for nobody can tell which of them it was.
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
    """`end` is the acknowledgement that ended it, or the end of the last send to a partition that had none any more (`open`)."""

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
    """Of one fault, ns; `recovery` is None where service had not returned when the history ended, or the fault never ended.

    `meanwhile`: other faults between its end and the recovery.
    """

    fault: int
    unavailable: int
    recovery: int | None
    partitions: int
    meanwhile: tuple[int, ...] = ()


def longest(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(nlargest(KEPT, gaps, key=lambda gap: (gap.length, -gap.start, gap.topic, gap.part)))


def gaps_of(topic: str, part: int, invoked: Numbers, ended: Numbers, acknowledged: Numbers) -> Iterator[Gap]:
    """`invoked` and `ended`: of every send to the partition. `acknowledged`: when, of those that were, a moment each."""
    if not len(invoked):
        return
    order = np.argsort(invoked, kind="stable")
    begun, open_until = invoked[order], np.maximum.accumulate(ended[order])
    before = np.concatenate([begun[:1], np.sort(acknowledged, kind="stable")])
    behind = np.searchsorted(begun, before, side="right")
    under_way = open_until[np.maximum(behind - 1, 0)] > before
    starts = np.where(under_way | (behind == len(begun)), before, begun[np.minimum(behind, len(begun) - 1)])
    for place in np.flatnonzero(before[1:] - starts[:-1] >= SHORTEST_NS):
        yield Gap(topic, part, int(starts[place]), int(before[place + 1]))
    if int(open_until[-1]) - int(starts[-1]) >= SHORTEST_NS:
        yield Gap(topic, part, int(starts[-1]), int(open_until[-1]), open=True)


def effects(faults: Sequence[Fault], gaps: Sequence[Gap]) -> list[Effect]:
    """One a fault that took place, in their order."""
    return [_effect(fault, faults, gaps) for fault in faults if fault.start is not None]


def _effect(fault: Fault, faults: Sequence[Fault], gaps: Sequence[Gap]) -> Effect:
    assert fault.start is not None
    end = fault.end
    during = [gap for gap in gaps if gap.end > fault.start and (end is None or gap.start < end)]
    worst = max((gap.length for gap in during), default=0)
    partitions = len({(gap.topic, gap.part) for gap in during})
    if end is None:
        return Effect(fault.id, worst, None, partitions)
    after = [gap for gap in during if gap.end > end]
    over = max((gap.end for gap in after), default=end)
    meanwhile = [other.id for other in faults if other is not fault and _at_work(other, end, over)]
    recovery = None if any(gap.open for gap in after) else over - end
    return Effect(fault.id, worst, recovery, partitions, tuple(meanwhile))


def _at_work(fault: Fault, start: int, end: int) -> bool:
    return fault.start is not None and fault.start < end and (fault.end is None or fault.end > start)
