"""Service: where progress is promised, no partition may go for long without an acknowledgement while somebody asks for one.

Only long gaps matter and there are few of them, so they are found over whole columns first, and what excuses them is taken away afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.anomalies import LONGEST_GAP_NS, PAUSE_NS
from analysis.check import Check
from analysis.context import Progress
from analysis.findings import Finding, Witness
from analysis.log import Log
from analysis.partition import MISSING, Column
from analysis.sorting import order_of
from analysis.telling import finding, seconds, who, witness
from harness.history.schema import Outcome

Time = tuple[int, int]


def unavailable(log: Log) -> Iterator[Finding]:
    progress = log.context.progress
    if progress is None or len(log.sends) == 0:
        return
    pieces = [piece for gap in long_gaps(log) for piece in _promised(gap, progress) if piece[1] - piece[0] > LONGEST_GAP_NS]
    found = [piece for piece in pieces if not _overlaps(piece, progress.stalled)]
    starts = np.array([start for start, _ in found], np.int64)
    yield finding("unavailable", (starts,), lambda at: _tell(log, found[at]))


def long_gaps(log: Log) -> list[Time]:
    """Times with sends under way and none acknowledged, longer than LONGEST_GAP_NS."""
    begin, end = _under_way(log)
    order = order_of(begin)
    begin, end = begin[order], np.maximum.accumulate(end[order])
    pause = np.flatnonzero(begin[1:] - end[:-1] > PAUSE_NS)
    starts, ends = begin[np.concatenate(([0], pause + 1))], end[np.append(pause, len(end) - 1)]
    acknowledged = log.rows["completed"][log.sends[log.rows["outcome"][log.sends] == Outcome.OK]]
    cuts = np.concatenate((starts, acknowledged, ends))
    cuts = cuts[order_of(cuts)]
    long = np.flatnonzero(np.diff(cuts) > LONGEST_GAP_NS)
    busy = np.searchsorted(starts, cuts[long], side="right") - 1
    return [(int(cuts[at]), int(cuts[at + 1])) for at, stretch in zip(long, busy, strict=True) if cuts[at] < ends[stretch]]


def _under_way(log: Log) -> tuple[Column, Column]:
    begin, end = log.rows["invoked"][log.sends], log.rows["completed"][log.sends]
    return begin, np.where(end == MISSING, begin, end)


def _promised(gap: Time, progress: Progress) -> Iterator[Time]:
    """What is left of it when the times of no promise are taken away."""
    start, end = gap
    for begins, ends in progress.suspended[order_of(progress.suspended[:, 0])]:
        if begins > start:
            yield start, min(int(begins), end)
        start = max(start, int(ends))
        if start >= end:
            return
    yield start, end


def _overlaps(piece: Time, times: Column) -> bool:
    return bool(((times[:, 0] < piece[1]) & (times[:, 1] > piece[0])).any())


def _tell(log: Log, piece: Time) -> Witness:
    begin, end = _under_way(log)
    waiting = log.sends[(begin < piece[1]) & (end > piece[0])]
    first = int(waiting[np.argmin(log.rows["invoked"][waiting])])
    sends = "1 send" if len(waiting) == 1 else f"{len(waiting)} sends"
    gap = f"from {seconds(piece[0])} to {seconds(piece[1])}, for {seconds(piece[1] - piece[0])}"
    sentence = f"No send was acknowledged {gap}, though service was promised and asked for by {sends}, first by {who(log, first)}."
    return witness(log, sentence, (piece[0],), (first,))


CHECKS = (Check(("unavailable",), ("f", "outcome", "value"), unavailable),)
