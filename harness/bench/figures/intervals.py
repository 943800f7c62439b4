"""How sure a ratio is: bootstrap intervals over rounds, and in words what they allow one to say. Pure.

Rates of a noisy machine differ by factors, so ratios are averaged as factors: geometric means. Of a handful of rounds a plain bootstrap
makes intervals that are too narrow; deviations are therefore stretched by sqrt(n / (n - 1)), as one does with a variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
SHARE = 0.95
TOO_WIDE = 1.5
"""Upper end over lower end, above which nothing can be said."""
FEWEST = 3
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratio:
    """`low` to `high` holds the true one in 95 of 100 cases."""

    value: float
    low: float
    high: float
    rounds: int

    @property
    def too_wide(self) -> bool:
        return self.rounds < FEWEST or not self.low > 0 or self.high / self.low > TOO_WIDE

    @property
    def tells_apart(self) -> bool:
        """Whether it is more than noise."""
        return self.rounds >= FEWEST and not self.low <= 1 <= self.high

    def in_words(self, better: str, than: str) -> str:
        span = f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        if self.rounds < FEWEST:
            return f"{span}: too few rounds to say anything ({self.rounds})"
        if self.too_wide:
            return f"{span}: too wide to say anything but that" + (" it is not 1" if self.tells_apart else "")
        return f"{span}" if self.tells_apart else f"{span}: no difference between {better} and {than} can be told"


def paired_ratio(pairs: Sequence[tuple[float, float]], seed: int = 1) -> Ratio | None:
    """First over second, of measurements made side by side; pairs without a ratio are left out."""
    logs = np.array([math.log(one / two) for one, two in pairs if one > 0 and two > 0])
    return _ratio(_means(logs, np.random.default_rng(seed)), float(logs.mean()), len(logs)) if len(logs) else None


def unpaired_ratio(ones: Sequence[float], twos: Sequence[float], seed: int = 1) -> Ratio | None:
    """First over second, of measurements made at different times."""
    one, two = (np.array([math.log(value) for value in values if value > 0]) for values in (ones, twos))
    if not len(one) or not len(two):
        return None
    chance = np.random.default_rng(seed)
    return _ratio(_means(one, chance) - _means(two, chance), float(one.mean() - two.mean()), min(len(one), len(two)))


def _means(logs: Reals, chance: np.random.Generator) -> Reals:
    """Of many samples of the same size, drawn with replacement."""
    count = len(logs)
    stretched = logs.mean() + (logs - logs.mean()) * math.sqrt(count / max(count - 1, 1))
    means: Reals = stretched[chance.integers(0, count, (RESAMPLES, count))].mean(axis=1)
    return means


def _ratio(means: Reals, value: float, rounds: int) -> Ratio:
    low, high = np.quantile(means, [(1 - SHARE) / 2, (1 + SHARE) / 2])
    return Ratio(math.exp(value), math.exp(float(low)), math.exp(float(high)), rounds)
