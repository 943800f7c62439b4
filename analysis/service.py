"""Service as a partition gives it: the times in which no send was acknowledged, and what each fault made of them.

A gap is a time in which sends to a partition were under way and none of them was acknowledged. A partition that nobody writes to is not
away: where all sends were given up and no other followed, the gap ends with them, and nobody knows when service would have returned. A
fault's unavailability is the longest gap that overlaps it; its recovery the time from its end until the last partition that was without
service then has it again. Faults that were at work meanwhile are named, for nobody can tell which of them it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np

from analysis.anomalies import PAUSE_NS
from analysis.columns import Numbers
from analysis.sorting import is_sorted
from analysis.times import edges_of_gaps
from harness.history.beside import Fault

SHORTEST_NS = 250_000_000
KEPT = 1000
"""Gaps of one history that are remembered, the longest."""


@dataclass(frozen=True, slots=True)
class Gap:
    """`end` is the acknowledgement that ended it, or the end of the last send that was given up without another to follow (`given_up`)."""

    topic: str
    part: int
    start: int
    end: int
    given_up: bool = False

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Effect:
    """Of one fault, ns; `recovery` is None where the fault never ended. `given_up`: partitions not asked again before they had service.

    `meanwhile`: other faults between its end and the recovery.
    """

    fault: int
    unavailable: int
    recovery: int | None
    partitions: int
    given_up: int = 0
    meanwhile: tuple[int, ...] = ()


def longest(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(nlargest(KEPT, gaps, key=lambda gap: (gap.length, -gap.start, gap.topic, gap.part)))


def gaps_of(topic: str, part: int, invoked: Numbers, ended: Numbers, acknowledged: Numbers) -> Iterator[Gap]:
    """`invoked` and `ended`: of every send to the partition. `acknowledged`: when, of those that were, a moment each."""
    if not len(invoked):
        return
    if not is_sorted(invoked):
        order = np.argsort(invoked, kind="stable")
        invoked, ended = invoked[order], ended[order]
    over = np.maximum.accumulate(ended)
    pauses = np.flatnonzero(invoked[1:] - over[:-1] > PAUSE_NS)
    starts, ends = invoked[np.concatenate(([0], pauses + 1))], over[np.append(pauses, len(over) - 1)]
    acknowledged = edges_of_gaps(acknowledged, SHORTEST_NS)
    cuts = np.sort(np.concatenate((starts, acknowledged, ends)), kind="stable")
    long = np.flatnonzero(np.diff(cuts) >= SHORTEST_NS)
    stretch = np.searchsorted(starts, cuts[long], side="right") - 1
    long = long[cuts[long] < ends[stretch]]
    behind = cuts[long + 1]
    given_up = np.searchsorted(acknowledged, behind, side="left") == np.searchsorted(acknowledged, behind, side="right")
    for place, alone in zip(long, given_up, strict=True):
        yield Gap(topic, part, int(cuts[place]), int(cuts[place + 1]), bool(alone))


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
    over = max((gap.end for gap in after if not gap.given_up), default=end)
    meanwhile = tuple(other.id for other in faults if other is not fault and _at_work(other, end, over))
    return Effect(fault.id, worst, over - end, partitions, sum(gap.given_up for gap in after), meanwhile)


def _at_work(fault: Fault, start: int, end: int) -> bool:
    return fault.start is not None and fault.start < end and (fault.end is None or fault.end > start)
