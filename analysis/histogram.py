"""Counts by series, time and size, sparse and mergeable: what every rate and percentile of a report is computed from.

Each observation falls into one cell: its series, a bin of the time axis, and a bucket of its size. Buckets are log-spaced, sixteen to
a doubling as in HdrHistogram, so a percentile is right within 3.2 % from a nanosecond to a month. Bins double in width whenever more
than `MOST_BINS` would be needed, so a run of a minute and one of a week take the same room, and two tables always fit together: bins of
both begin at multiples of their width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.columns import Numbers

MOST_BINS = 600
FINEST_NS = 100_000_000
NO_SIZE = 1023
"""The bucket of what has no size: it never ended."""

SERIES_BITS, BIN_BITS, BUCKET_BITS = 9, 44, 10
_FINE_BITS = 4
_FINE = 1 << _FINE_BITS
_LARGEST = (1 << 52) - 1

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cells:
    """`keys` rise and are unique, (series, bin, bucket) in one number; `counts` are above zero; a bin is `width` ns long."""

    width: int
    keys: Numbers
    counts: Numbers

    @classmethod
    def none(cls) -> Cells:
        return cls(FINEST_NS, np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def count(cls, series: Numbers, times: Numbers, buckets: Numbers, often: Numbers | None = None) -> Cells:
        """One observation each, or as often as it says."""
        if not len(times):
            return cls.none()
        times = np.maximum(times, 0)
        width = _width_for(int(times.min()), int(times.max()))
        return cls(width, *_counted(series, times // width, buckets, often))

    def merge(self, other: Cells) -> Cells:
        if not len(self.keys) or not len(other.keys):
            return self if len(self.keys) else other
        first = min(self.bounds[0], other.bounds[0])
        last = max(self.bounds[1], other.bounds[1])
        width = max(self.width, other.width, _width_for(first, last))
        one, two = self.coarser(width), other.coarser(width)
        return Cells(width, *_summed(np.concatenate([one.keys, two.keys]), np.concatenate([one.counts, two.counts])))

    def coarser(self, width: int) -> Cells:
        """The same in bins of `width`, a multiple of these."""
        if width == self.width:
            return self
        factor = width // self.width
        keys = (((self.series << BIN_BITS) | (self.bins // factor)) << BUCKET_BITS) | self.buckets
        return Cells(width, *_summed(keys, self.counts))

    def only(self, series: int) -> Cells:
        mask = self.series == series
        return Cells(self.width, self.keys[mask], self.counts[mask])

    @property
    def series(self) -> Numbers:
        found: Numbers = self.keys >> (BIN_BITS + BUCKET_BITS)
        return found

    @property
    def bins(self) -> Numbers:
        found: Numbers = (self.keys >> BUCKET_BITS) & ((1 << BIN_BITS) - 1)
        return found

    @property
    def buckets(self) -> Numbers:
        found: Numbers = self.keys & ((1 << BUCKET_BITS) - 1)
        return found

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def bounds(self) -> tuple[int, int]:
        """Times of the first bin's beginning and the last one's, ns."""
        bins = self.bins
        return (int(bins.min()) * self.width, int(bins.max()) * self.width) if len(bins) else (0, 0)


def buckets_of(sizes: Numbers) -> Numbers:
    """Hot path: exponent and first bits of the fraction, as a float has them side by side, are the bucket."""
    bits = np.minimum(sizes, _LARGEST).astype(np.float64).view(np.int64)
    found: Numbers = np.maximum((bits >> (52 - _FINE_BITS)) - (1023 << _FINE_BITS), 0)
    return found


def middle_of(buckets: Numbers) -> Reals:
    """The size that stands for a bucket."""
    middles: Reals = np.ldexp(1 + (buckets % _FINE + 0.5) / _FINE, buckets // _FINE)
    return middles


def percentile(buckets: Numbers, counts: Numbers, share: float) -> float | None:
    """The size below which that share of the observations lies; None where there is none."""
    sized = buckets != NO_SIZE
    order = np.argsort(buckets[sized], kind="stable")
    rising, sums = buckets[sized][order], np.cumsum(counts[sized][order])
    if not len(rising):
        return None
    return float(middle_of(rising[[np.searchsorted(sums, max(share * sums[-1], 1))]])[0])


def _width_for(first: int, last: int) -> int:
    width = FINEST_NS
    while last // width - first // width >= MOST_BINS:
        width *= 2
    return width


def _counted(series: Numbers, bins: Numbers, buckets: Numbers, often: Numbers | None) -> tuple[Numbers, Numbers]:
    """Hot path. Many observations fall into few cells, which are numbered and counted in place; sorting them takes ten times as long.

    Only series and buckets that occur have cells: a table of all would be larger than most tasks have rows.
    """
    (known, rank), (sizes, size_rank) = _ranked(series), _ranked(buckets)
    first, span = bins.min(), bins.max() - bins.min() + 1
    numbers = (rank[series] * span + (bins - first)) * len(sizes) + size_rank[buckets]
    counts = np.bincount(numbers) if often is None else np.bincount(numbers, often).astype(np.int64)
    found = np.flatnonzero(counts)
    rest, size = np.divmod(found, len(sizes))
    which, place = np.divmod(rest, span)
    return (((known[which] << BIN_BITS) | (place + first)) << BUCKET_BITS) | sizes[size], counts[found]


def _ranked(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Those that occur, rising, and by number the place of each of them."""
    there = np.bincount(numbers) > 0
    return np.flatnonzero(there), np.cumsum(there) - 1


def _summed(keys: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[starts], np.add.reduceat(counts, starts)
