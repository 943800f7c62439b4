"""Latencies as histograms that are merged, never averaged: the median of percentiles is no percentile. Pure.

HdrHistogram with three digits, in microseconds, from one to an hour. A percentile needs samples behind it: the 99.9th is told from
100,000 upwards, where a hundred of them lie above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


class Latencies:
    """Invariant: every sample is in one histogram, however many were merged into it; nothing is added once a percentile was asked for."""

    def __init__(self, encoded: str | None = None) -> None:
        self._histogram = HdrHistogram(1, _LONGEST_US, _DIGITS)
        self._values: dict[float, int] | None = None
        if encoded:
            self._histogram.decode_and_add(encoded.encode())

    @classmethod
    def of(cls, microseconds: npt.NDArray[np.int64]) -> Latencies:
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
        return float(self._histogram.get_mean_value()) / 1000 if self.samples else None

    @property
    def most_ms(self) -> float | None:
        return float(self._histogram.get_max_value()) / 1000 if self.samples else None

    def percentile_ms(self, percent: float) -> float | None:
        """None where too few samples stand behind it."""
        if self.samples < FEWEST.get(percent, 1):
            return None
        return self._at(percent)

    def curve(self) -> Sequence[tuple[float, float]]:
        """(percentile, milliseconds), as far as there are samples for it."""
        return [(percent, self._at(percent)) for percent in CURVE if (100 - percent) / 100 * self.samples >= _BEYOND]

    def encoded(self) -> str:
        text: bytes = self._histogram.encode()
        return text.decode()

    def _at(self, percent: float) -> float:
        """In milliseconds. The histogram is walked once for all percentiles: a walk takes milliseconds."""
        if self._values is None:
            self._values = self._histogram.get_percentile_to_value_dict(sorted({*FEWEST, *CURVE}))
        return float(self._values[percent]) / 1000
