"""From a run's sends and faults to the figures of one acks setting. Pure.

Each strike is looked at twice: from when it struck, and from when it was healed, for a broker that comes back may cost as much as one that
goes. Latencies of all strikes of a kind are taken together and never averaged. A message that was lost belongs to the strike in whose
neighbourhood it was due: the borders lie half-way between one fault's end and the next one's beginning.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from harness.bench.under_faults.dips import SECOND, Dip, dip_in, rate_of
from harness.bench.under_faults.sends import Sends

BEFORE_S = 2.0
UNTOUCHED_S = 0.5
"""Messages due so shortly before a strike may still be under way when it comes."""
RARE_FROM = 100_000


@dataclass(frozen=True, slots=True)
class Span:
    """One fault as it took place, in ns since the run began."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Strike:
    """`calm_depth` is the dip that the machine made by itself just before; `lost` of the messages around it.

    Depths count from `rate_before`, or from the rate at which messages were due where old ones were still being caught up with.
    """

    kind: str
    rate_before: float
    calm_depth: float
    struck: Dip
    healed: Dip
    lost: int
    unacknowledged: int


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one figure over strikes; `missing` strikes have none, as a dip that did not end."""

    median: float | None
    least: float | None
    most: float | None
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """In ms, from when messages were due; `p999` only where the samples are enough."""

    samples: int
    p50: float | None
    p99: float | None
    p999: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Of all strikes of one kind. `lost` has a number a strike; `latency` is that of messages due from a strike to the next."""

    kind: str
    depth: Spread
    silence_s: Spread
    back_s: Spread
    healed_depth: Spread
    healed_back_s: Spread
    lost: tuple[int, ...]
    unacknowledged: int
    latency: Latency

    @property
    def strikes(self) -> int:
        return len(self.lost)

    @property
    def lost_spread(self) -> Spread:
        return spread(self.lost)


def strikes_of(sends: Sends, faults: Sequence[Span], load_ends: int) -> list[Strike]:
    """`faults` in the order of their start, none beginning before the one before has ended."""
    acknowledged = sends.acknowledgements
    borders = _borders(faults)
    found = []
    for place, fault in enumerate(faults):
        following = faults[place + 1].start if place + 1 < len(faults) else load_ends
        before = fault.start - round(BEFORE_S * SECOND)
        rate = rate_of(acknowledged, before, fault.start)
        level = min(rate, rate_of(sends.due, before, fault.start))
        around = sends.due_within(borders[place], borders[place + 1])
        found.append(
            Strike(
                fault.kind,
                rate,
                dip_in(acknowledged, before, fault.start, level).depth,
                dip_in(acknowledged, fault.start, fault.end, level, following),
                dip_in(acknowledged, fault.end, following, level),
                int(np.count_nonzero(around.lost)),
                around.unacknowledged,
            )
        )
    return found


def kind_figures(kind: str, strikes: Sequence[Strike], sends: Sends, faults: Sequence[Span], load_ends: int) -> KindFigures:
    own = [strike for strike in strikes if strike.kind == kind]
    ends = [*(fault.start for fault in faults[1:]), load_ends]
    due = [sends.due_within(fault.start, end).latencies_ms for fault, end in zip(faults, ends, strict=True) if fault.kind == kind]
    return KindFigures(
        kind,
        spread([strike.struck.depth for strike in own]),
        spread([strike.struck.silence_s for strike in own]),
        spread([strike.struck.back_s for strike in own]),
        spread([strike.healed.depth for strike in own]),
        spread([strike.healed.back_s for strike in own]),
        tuple(strike.lost for strike in own),
        sum(strike.unacknowledged for strike in own),
        latency_of(np.concatenate(due) if due else np.empty(0)),
    )


def calm_latency(sends: Sends, faults: Sequence[Span]) -> Latency:
    """Of messages due in the seconds before each strike."""
    windows = [(fault.start - round(BEFORE_S * SECOND), fault.start - round(UNTOUCHED_S * SECOND)) for fault in faults]
    due = [sends.due_within(*window).latencies_ms for window in windows]
    return latency_of(np.concatenate(due) if due else np.empty(0))


def latency_of(samples: npt.NDArray[np.float64]) -> Latency:
    if not len(samples):
        return Latency(0, None, None, None, None)
    p50, p99, p999 = (float(value) for value in np.percentile(samples, (50, 99, 99.9), method="inverted_cdf"))
    return Latency(len(samples), p50, p99, p999 if len(samples) >= RARE_FROM else None, float(samples.max()))


def spread(values: Sequence[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    missing = len(values) - len(known)
    return Spread(statistics.median(known), min(known), max(known), missing) if known else Spread(None, None, None, missing)


def _borders(faults: Sequence[Span]) -> list[int]:
    between = [(one.end + other.start) // 2 for one, other in pairwise(faults)]
    return [-(2**62), *between, 2**62]
