"""Which partitions are written to: a few at a time, one of them more than the others, none for ever.

A partition that had its random number of writes is retired and a fresh one of the pool takes its place, so that a run covers many
partitions, each with a beginning, a history and a quiet end. Where the pool is used up, the one longest retired comes back.

Every worker of a run gives the same `order`, so that all rotate through the same partitions at about the same pace; `choice` is its own.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from itertools import accumulate

Place = tuple[str, int]
_RECENT = 4


class Rotation:
    """Invariant: every partition of the pool is either live, in one position, or waiting."""

    def __init__(self, pool: Sequence[Place], live: int, mean_writes: int, order: random.Random, choice: random.Random) -> None:
        if not pool or len(set(pool)) != len(pool):
            raise ValueError("a pool has at least one partition, and none twice")
        shuffled = order.sample(pool, len(pool))
        self._live = shuffled[:live]
        self._waiting = deque(shuffled[live:])
        self._mean = max(1, mean_writes)
        self._order, self._choice = order, choice
        self._left = [self._writes() for _ in self._live]
        self._weights = list(accumulate(1 / (position + 1) for position in range(len(self._live))))
        self._positions = range(len(self._live))
        self._retired: deque[Place] = deque(maxlen=_RECENT)
        self.readable: tuple[Place, ...] = tuple(self._live)
        """Live ones and some that were retired last. Replaced as a whole: other threads may read it."""

    @property
    def live(self) -> tuple[Place, ...]:
        return tuple(self._live)

    def next(self) -> Place:
        """The partition of the next write."""
        (position,) = self._choice.choices(self._positions, cum_weights=self._weights)
        place = self._live[position]
        self._left[position] -= 1
        if self._left[position] == 0:
            self._retire(position)
        return place

    def _retire(self, position: int) -> None:
        old = self._live[position]
        self._waiting.append(old)
        self._retired.append(old)
        self._live[position] = self._waiting.popleft()
        self._left[position] = self._writes()
        self.readable = tuple(dict.fromkeys((*self._live, *self._retired)))

    def _writes(self) -> int:
        return self._order.randint(1, 2 * self._mean - 1)
