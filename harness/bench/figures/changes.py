"""Two results beside each other: what changed between them, and whether it is more than noise. Pure.

They were measured at different times, so rounds are not paired and the interval is wider than one of a comparison in one run. A change is a
*regression* when it is for the worse, past the threshold, and more than noise. Cases are matched by everything that defines them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.bench.figures import summary as quantities
from harness.bench.figures.intervals import Ratio, unpaired_ratio
from harness.bench.figures.results import LoadRound, Result
from harness.bench.figures.summary import AtRate, Cell, Summary

_OF_LOADS: tuple[tuple[str, Callable[[LoadRound], float], bool], ...] = (
    ("MB/s", quantities.mb_s, True),
    ("MB/s as the client sees it", quantities.mb_s_seen, True),
    ("read MB/s", quantities.read_mb_s, True),
    ("broker CPU s/GB", quantities.broker_cpu_gb, False),
    ("peak MB", quantities.peak_mb, False),
)


@dataclass(frozen=True, slots=True)
class Change:
    system: str
    case: str
    what: str
    before: float
    after: float
    ratio: Ratio
    """After over before."""
    more_is_better: bool

    @property
    def worsened_by(self) -> float:
        """As a share; negative: it improved."""
        return 1 - self.ratio.value if self.more_is_better else self.ratio.value - 1

    def is_regression(self, threshold: float) -> bool:
        return self.ratio.tells_apart and self.worsened_by > threshold

    def verdict(self, threshold: float) -> str:
        if not self.ratio.tells_apart:
            return "noise"
        if self.worsened_by > threshold:
            return "regression"
        return "worse" if self.worsened_by > 0 else "better"


def changes(before: Result, after: Result) -> Iterator[Change]:
    """In the order of the later result; what only one of them has is left out (`unmatched` tells)."""
    old, new = Summary(before), Summary(after)
    for number, case in enumerate(after.cases):
        earlier = next((index for index, one in enumerate(before.cases) if one.key == case.key), None)
        for system, name in enumerate(new.systems):
            if earlier is not None and name in old.systems:
                was, now = old.cells[earlier][old.systems.index(name)], new.cells[number][system]
                for what, ratio, values, more_is_better in _ratios(was, now):
                    yield Change(name, new.names[number], what, *values, ratio, more_is_better)
    yield from _starts(old, new)


def unmatched(before: Result, after: Result) -> list[str]:
    """Cases and systems that only one of them has."""
    keys = {case.key for case in before.cases} ^ {case.key for case in after.cases}
    names = {system.name for system in before.systems} ^ {system.name for system in after.systems}
    return sorted(keys) + sorted(names)


def _ratios(was: Cell, now: Cell) -> Iterator[tuple[str, Ratio, tuple[float, float], bool]]:
    for what, quantity, more_is_better in _OF_LOADS:
        ratio = unpaired_ratio([quantity(one) for one in now.loads], [quantity(one) for one in was.loads])
        one, two = was.spread(quantity), now.spread(quantity)
        if ratio and one and two:
            yield what, ratio, (one.median, two.median), more_is_better
    for at in now.at_rates:
        then = next((each for each in was.at_rates if _same_load(each, at)), None)
        if then is not None:
            for name, percent in (("p50", 50.0), ("p99", 99.0)):
                yield from _latency_ratio(name, percent, (was, then), (now, at))


def _latency_ratio(
    name: str, percent: float, was: tuple[Cell, AtRate], now: tuple[Cell, AtRate]
) -> Iterator[tuple[str, Ratio, tuple[float, float], bool]]:
    before, after = (at.publish.percentile_ms(percent) for _cell, at in (was, now))
    earlier, later = (list(cell.round_percentiles(at.rate, percent).values()) for cell, at in (was, now))
    ratio = unpaired_ratio(later, earlier)
    if ratio is not None and before is not None and after is not None:
        share, rate = now[1].share, now[1].rate
        load = f"{share:.0%} load" if share is not None else f"{rate:,.0f} messages/s"
        yield f"{name} ms at {load}", ratio, (before, after), False


def _same_load(one: AtRate, two: AtRate) -> bool:
    """The same share of what was reached, or the same rate."""
    return one.share == two.share and (one.share is not None or one.rate == two.rate)


def _starts(old: Summary, new: Summary) -> Iterator[Change]:
    for system, name in enumerate(new.systems):
        if name in old.systems:
            was = [one.seconds for one in old.result.starts if one.system == old.systems.index(name)]
            now = [one.seconds for one in new.result.starts if one.system == system]
            if ratio := unpaired_ratio(now, was):
                yield Change(name, "start", "seconds", statistics.median(was), statistics.median(now), ratio, False)
