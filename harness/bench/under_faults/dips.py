"""How deep a fault cuts into the rate of acknowledgements, and for how long. Pure.

The load comes at a fixed rate, so what is acknowledged a second is level until something happens, and what was held back comes in a burst
after it. Three figures tell of it: the *depth* is the share of the rate before that was missing in the worst half second, the *silence*
the longest time without any acknowledgement, and it is *back* when the second that follows has nine tenths of the rate before again. A
burst counts for little more than the rate before, or it would make up for the silence it followed. The machine makes little dips of its
own: a depth below a tenth is none.

Times are ns since the run began.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]
SECOND = 1_000_000_000
BIN = SECOND // 10
WORST_BINS = 5
STEADY_BINS = 10
BACK_AT = 0.9
BURST = 1.1
"""What a tenth of a second may count for at the most, as a multiple of its share of the rate before."""


@dataclass(frozen=True, slots=True)
class Dip:
    """`depth` is from 0 to 1; `back_s` counts from the beginning of the window, 0 where there was no dip, None where it did not end."""

    depth: float
    silence_s: float
    back_s: float | None


def rate_of(acknowledged: Times, start: int, end: int) -> float:
    """A second."""
    return _within(acknowledged, start, end) / ((end - start) / SECOND)


def dip_in(acknowledged: Times, start: int, end: int, rate: float, until: int | None = None) -> Dip:
    """What happened to the rate in the window. `until`: how far behind its end may be looked to find the dip over, or going on.

    `acknowledged` is sorted; `rate` is the one before, a second. A dip that begins in the last second of the window is none of it: whether
    it ends cannot be seen.
    """
    dip = _dip(acknowledged, start, end, rate)
    if dip.back_s is None and until is not None and until > end:
        return _dip(acknowledged, start, until, rate)
    return dip


def _dip(acknowledged: Times, start: int, end: int, rate: float) -> Dip:
    edges = np.arange(start, end + 1, BIN)
    counts = np.diff(np.searchsorted(acknowledged, edges))
    if len(counts) < WORST_BINS or rate <= 0:
        return Dip(0.0, silence(acknowledged, start, end), 0.0)
    shares = np.minimum(counts / (rate * BIN / SECOND), BURST)
    half_seconds = _means(shares, WORST_BINS)[: max(len(shares) - WORST_BINS - STEADY_BINS, 0) + 1]
    worst = int(np.argmin(half_seconds))
    depth = float(min(max(1.0 - half_seconds[worst], 0.0), 1.0))
    back = 0.0 if depth < 1 - BACK_AT else _back(shares, worst)
    return Dip(depth, silence(acknowledged, start, end), back)


def _back(shares: Shares, worst: int) -> float | None:
    """The first bin from the worst on that is level itself and begins a level second; that second lies inside the window."""
    if len(shares) < STEADY_BINS:
        return None
    seconds = _means(shares, STEADY_BINS)
    level = np.flatnonzero((seconds >= BACK_AT) & (shares[: len(seconds)] >= BACK_AT))
    level = level[level >= worst]
    return float(level[0]) * BIN / SECOND if len(level) else None


def _means(shares: Shares, bins: int) -> Shares:
    return np.convolve(shares, np.ones(bins), "valid") / bins


def silence(acknowledged: Times, start: int, end: int) -> float:
    """The longest time inside the window without an acknowledgement, in seconds."""
    inside = acknowledged[np.searchsorted(acknowledged, start) : np.searchsorted(acknowledged, end)]
    return float(np.max(np.diff(np.concatenate(([start], inside, [end]))))) / SECOND


def _within(acknowledged: Times, start: int, end: int) -> int:
    low, high = np.searchsorted(acknowledged, (start, end))
    return int(high - low)
