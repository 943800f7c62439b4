"""Latencies as histograms that are merged, never averaged: the median of percentiles is no percentile. Pure.

HdrHistogram with three digits, in microseconds, from one to an hour, kept in its own encoding. A percentile needs samples behind it: the
99.9th is told from 100,000 upwards, where a hundred of them lie above it. The library walks its 23,552 counters in Python for each
question, so they are answered from its counters by numpy, to the same values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

_LONGEST_US = 3600 * 1_000_000
_DIGITS = 3
FEWEST = {50.0: 1, 75.0: 10, 95.0: 100, 99.0: 1_000, 99.9: 100_000, 99.99: 1_000_000}
"""Samples below which a percentile is not told."""
CURVE = (0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 99.999)
_BEYOND = 10
"""Samples that must lie above a point of the curve."""
Numbers = npt.NDArray[np.int64]


class Latencies:
    """Invariant: every sample is in one histogram, however many were merged into it."""

    def __init__(self, encoded: str | None = None) -> None:
        self._histogram = HdrHistogram(1, _LONGEST_US, _DIGITS)
        if encoded:
            self._histogram.decode_and_add(encoded.encode())

    @classmethod
    def of(cls, microseconds: Numbers) -> Latencies:
        made = cls()
        values, counts = np.unique(np.clip(microseconds, 1, _LONGEST_US - 1), return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            made._histogram.record_value(value, count)
        return made

    @classmethod
    def merged(cls, encoded: Iterable[str]) -> Latencies:
        made = cls()
        for one in encoded:
            made._histogram.decode_and_add(one.encode())
        return made

    @property
    def samples(self) -> int:
        return int(self._histogram.get_total_count())

    @property
    def mean_ms(self) -> float | None:
        return float((self._counts * _values()).sum() / self.samples) / 1000 if self.samples else None

    @property
    def most_ms(self) -> float | None:
        return float(_values()[np.flatnonzero(self._counts)[-1]]) / 1000 if self.samples else None

    def percentile_ms(self, percent: float) -> float | None:
        """None where too few samples stand behind it."""
        return self._at(percent) if self.samples >= FEWEST.get(percent, 1) else None

    def curve(self) -> Sequence[tuple[float, float]]:
        """(percentile, milliseconds), as far as there are samples for it."""
        return [(percent, self._at(percent)) for percent in CURVE if (100 - percent) / 100 * self.samples >= _BEYOND]

    def encoded(self) -> str:
        text: bytes = self._histogram.encode()
        return text.decode()

    @property
    def _counts(self) -> Numbers:
        return np.ctypeslib.as_array(self._histogram.counts).astype(np.int64)

    def _at(self, percent: float) -> float:
        rank = max(math.floor(percent * self.samples / 100 + 0.5), 1)
        return float(_values()[np.searchsorted(np.cumsum(self._counts), rank)]) / 1000


@cache
def _values() -> Numbers:
    """The highest value that falls into each counter."""
    empty = HdrHistogram(1, _LONGEST_US, _DIGITS)
    found = [empty.get_highest_equivalent_value(empty.get_value_from_index(index)) for index in range(empty.counts_len)]
    return np.array(found, np.int64)
