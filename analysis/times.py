"""Stretches of time as rows of start and end: put together where they meet, and never more of them than a driver can hold."""

from __future__ import annotations

import numpy as np

from analysis.partition import Column
from analysis.sorting import order_of

MOST = 20_000
"""Stretches kept apart; of more, those with the least between them become one."""

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
