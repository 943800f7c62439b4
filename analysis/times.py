"""Stretches of time as rows of start and end: put together where they meet, and never more of them than a driver can hold.

And of moments those between which nothing happened for long, without sorting them all.
"""

from __future__ import annotations

import numpy as np

from analysis.partition import Column
from analysis.sorting import order_of

MOST = 20_000
"""Stretches kept apart; of more, those with the least between them become one."""

_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
NONE: Column = np.empty((0, 2), np.int64)


def together(times: Column, most: int = MOST) -> Column:
    """Sorted, apart from each other, and covering all of what was given."""
    if len(times) == 0:
        return NONE
    times = times[order_of(times[:, 0])]
    start, end = times[:, 0], np.maximum.accumulate(times[:, 1])
    between = np.concatenate(([0], start[1:] - end[:-1]))
    apart = between > 0
    if apart.sum() >= most:
        apart = between > np.partition(between, -most)[-most]
    first = np.concatenate(([0], np.flatnonzero(apart)))
    last = np.append(first[1:] - 1, len(times) - 1)
    return np.stack((start[first], end[last]), axis=1)


def edges_of_gaps(moments: Column, length: int) -> Column:
    """Sorted, as many of the moments as show every gap of at least that length: the first and the last of each half of it.

    A gap is at least as long as two halves, so that it ends and begins in different ones: with the last of one, with the first of another.
    """
    if len(moments) == 0:
        return moments
    first, half = int(moments.min()), max(length // 2, 1)
    count = (int(moments.max()) - first) // half + 1
    if count > len(moments):
        return np.unique(moments)
    at = (moments - first) // half
    earliest, latest = np.full(count, _LATEST), np.full(count, _EARLIEST)
    np.minimum.at(earliest, at, moments)
    np.maximum.at(latest, at, moments)
    filled = latest != _EARLIEST
    return np.unique(np.concatenate((earliest[filled], latest[filled])))
