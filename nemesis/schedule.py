"""When each fault strikes, in which form, for how long: a plan drawn from one seed before anything is started.

Each fault of a scenario alternates between a strike and a wait, both of random length; different ones overlap. Some periods of the run
are calm: every strike ends before one begins, for a cluster that never recovers shows little. The first period is never calm and is
long enough for every fault, so each one that was asked for strikes at least once. Faults with a time of their own (`at`) keep to it.

The plan fixes time, kind, form and role; nodes are found at the strike (`targets`), from randomness that belongs to that one strike, so
that nothing that happens in a run can shift the next draw. Seeds are texts: Python hashes those alike in every process.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nemesis.catalogue import CATALOGUE, FaultSpec, Value, Variant, possible_variants
from nemesis.targets import NAMED, Selector, parse_selector

TICK = 0.001  # planned times are whole milliseconds


@dataclass(frozen=True, slots=True)
class Timing:
    """How faults are spread over a run; seconds, and the share of periods that are calm."""

    mean_interval: float = 10.0
    first_after: float = 5.0
    calm_share: float = 0.25
    overlap: bool = True


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """Invariant: 0 <= start < end, both seconds since the run's load began; `parameters` has every parameter of the variant."""

    id: int
    kind: str
    variant: str
    selector: Selector
    parameters: Mapping[str, Value]
    start: float
    end: float
    name: str | None = None

    def __post_init__(self) -> None:
        assert 0 <= self.start < self.end


def make_schedule(
    faults: Sequence[FaultSpec], seed: int, time_limit: float, timing: Timing = Timing(), nodes: int = 3
) -> list[PlannedFault]:
    """In the order of their start. The specs must be sound (`mistakes_in`) and there must be room (`room_needed`)."""
    needed = room_needed(faults, timing, nodes)
    if time_limit < needed:
        raise ValueError(f"{time_limit:g} s are too short for these faults: {needed:g} s are needed")
    drawn = [number for number, fault in enumerate(faults) if fault.at is None]
    lanes = [[number] for number in drawn] if timing.overlap else [drawn] if drawn else []
    windows = _windows(faults, seed, time_limit, timing, nodes) if drawn else []
    strikes: list[tuple[float, int, PlannedFault]] = []
    for lane in lanes:
        rng = random.Random(f"{seed}/lane/{'/'.join(map(str, lane))}")
        strikes += ((strike.start, number, strike) for number, strike in _alternate(rng, faults, lane, windows, timing, nodes))
    for number, fault in enumerate(faults):
        if fault.at is not None:
            rng = random.Random(f"{seed}/fixed/{number}")
            strikes += ((strike.start, number, strike) for strike in _fixed(rng, fault, time_limit, timing, nodes))
    strikes.sort(key=lambda strike: strike[:2])
    return [replace(strike, id=number) for number, (_, _, strike) in enumerate(strikes, start=1)]


def room_needed(faults: Sequence[FaultSpec], timing: Timing, nodes: int) -> float:
    """The shortest run in which each of them can strike."""
    return max(((timing.first_after if fault.at is None else fault.at) + _shortest(fault, nodes) for fault in faults), default=0.0)


def calm_periods(
    faults: Sequence[FaultSpec], seed: int, time_limit: float, timing: Timing = Timing(), nodes: int = 3
) -> list[tuple[float, float]]:
    """When no drawn fault is under way, but for the time before the first one."""
    return [(start, end) for start, end, calm in _periods(faults, seed, time_limit, timing, nodes) if calm]


def strike_randomness(seed: int, fault: PlannedFault) -> random.Random:
    """For everything that is drawn when it strikes, nodes above all."""
    return random.Random(f"{seed}/strike/{fault.id}")


def pinned(faults: Sequence[PlannedFault], struck: Mapping[int, Sequence[str]]) -> list[PlannedFault]:
    """The same plan on the nodes that an earlier run of it found (fault's id -> nodes)."""
    return [replace(fault, selector=Selector(NAMED, tuple(struck[fault.id]))) if struck.get(fault.id) else fault for fault in faults]


def as_data(fault: PlannedFault) -> dict[str, object]:
    """For plan.json."""
    return {
        "id": fault.id,
        "kind": fault.kind,
        "variant": fault.variant,
        "selector": str(fault.selector),
        "parameters": dict(sorted(fault.parameters.items())),
        "start": fault.start,
        "end": fault.end,
        "name": fault.name,
    }


def from_data(data: Mapping[str, object]) -> PlannedFault:
    """Raises ValueError, KeyError, TypeError or AssertionError on what is no planned fault."""
    match data:
        case {
            "id": int(number), "kind": str(kind), "variant": str(variant), "selector": str(selector), "parameters": dict(parameters),
            "start": (int() | float()) as start, "end": (int() | float()) as end, "name": (str() | None) as name,
        } if kind in CATALOGUE:  # fmt: skip
            return PlannedFault(number, kind, variant, parse_selector(selector), parameters, float(start), float(end), name)
    raise ValueError(f"no planned fault: {data!r}")


def _alternate(
    rng: random.Random,
    faults: Sequence[FaultSpec],
    lane: Sequence[int],
    windows: Sequence[tuple[float, float]],
    timing: Timing,
    nodes: int,
) -> Iterator[tuple[int, PlannedFault]]:
    """Strike, wait, strike, wait; with several faults in a lane each has its turn before one comes again."""
    turns = _turns(rng, lane)
    number = next(turns)
    left = list(windows)
    first, end = left[0]
    rest = faults[number].rests or timing.mean_interval
    now = first + rng.uniform(0.0, max(0.0, min(rest, end - first - _shortest(faults[number], nodes))))
    while left:
        variant = _variant(rng, faults[number], nodes)
        length = _length(rng, faults[number], variant, timing.mean_interval)
        shortest = faults[number].lasts or variant.least_seconds
        now = max(now, left[0][0])
        end = min(now + length, left[0][1])
        if end - now < shortest - 2 * TICK:
            left.pop(0)
            if left and now < left[0][0]:
                now = left[0][0] + rng.uniform(0.0, faults[number].rests or timing.mean_interval)
            continue
        yield number, _strike(rng, faults[number], variant, now, end)
        now = end + _wait(rng, faults[number].rests or timing.mean_interval)
        number = next(turns)


def _fixed(rng: random.Random, fault: FaultSpec, time_limit: float, timing: Timing, nodes: int) -> Iterator[PlannedFault]:
    start = fault.at
    while start is not None and start + _shortest(fault, nodes) <= time_limit:
        variant = _variant(rng, fault, nodes)
        length = _length(rng, fault, variant, timing.mean_interval)
        yield _strike(rng, fault, variant, start, min(start + length, time_limit))
        start = start + fault.every if fault.every is not None else None


def _strike(rng: random.Random, fault: FaultSpec, variant: Variant, start: float, end: float) -> PlannedFault:
    parameters = {parameter.name: fault.parameters.get(parameter.name, parameter.draw(rng)) for parameter in variant.parameters}
    selector = parse_selector(fault.target or variant.targets[0])
    return PlannedFault(0, fault.kind, variant.name, selector, parameters, _tick_after(start), _tick_before(end), fault.name)


def _windows(faults: Sequence[FaultSpec], seed: int, time_limit: float, timing: Timing, nodes: int) -> list[tuple[float, float]]:
    """The times between calm periods, each as long as it goes."""
    joined: list[tuple[float, float]] = []
    for start, end, calm in _periods(faults, seed, time_limit, timing, nodes):
        if calm:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _periods(faults: Sequence[FaultSpec], seed: int, time_limit: float, timing: Timing, nodes: int) -> list[tuple[float, float, bool]]:
    """Periods of random length from the first fault to the end, and whether each is calm: their share of them, never the first.

    Nor the last, where there is another choice: after it comes the recovery, which is calm anyway. Nor two in a row.
    """
    rng = random.Random(f"{seed}/calm")
    base = max([timing.mean_interval, *(_shortest(fault, nodes) for fault in faults if fault.at is None)])
    edges = [timing.first_after]
    while edges[-1] < time_limit:
        edges.append(min(edges[-1] + rng.uniform(base, 2 * base), time_limit))
    periods = list(itertools.pairwise(edges))
    last = len(periods) - 1 if len(periods) > 2 else len(periods)
    calm = _spread(rng, range(1, last), round(len(periods) * timing.calm_share))
    return [(start, end, number in calm) for number, (start, end) in enumerate(periods)]


def _spread(rng: random.Random, numbers: range, count: int) -> list[int]:
    """So many of the numbers, no two of them neighbours where that is possible."""
    count = min(count, len(numbers))
    apart = len(numbers) - count + 1
    if count > apart:
        return rng.sample(numbers, count)
    return [numbers[place + before] for before, place in enumerate(sorted(rng.sample(range(apart), count)))]


def _turns(rng: random.Random, lane: Sequence[int]) -> Iterator[int]:
    while True:
        yield from rng.sample(lane, len(lane))


def _variant(rng: random.Random, fault: FaultSpec, nodes: int) -> Variant:
    return rng.choice(possible_variants(fault, nodes))


def _shortest(fault: FaultSpec, nodes: int) -> float:
    return fault.lasts or max(variant.least_seconds for variant in possible_variants(fault, nodes))


def _length(rng: random.Random, fault: FaultSpec, variant: Variant, mean: float) -> float:
    return fault.lasts or max(_wait(rng, mean), variant.least_seconds)


def _wait(rng: random.Random, mean: float) -> float:
    """Of that mean, and never so short that a heal and the next strike are one."""
    return rng.uniform(0.1 * mean, 1.9 * mean)


def _tick_before(seconds: float) -> float:
    """The nearest tick that is not after it: exactly, or a fault could outlast the run by a rounding error."""
    ticks = round(seconds * 1000)
    return (ticks if ticks / 1000 <= seconds else ticks - 1) / 1000


def _tick_after(seconds: float) -> float:
    ticks = round(seconds * 1000)
    return (ticks if ticks / 1000 >= seconds else ticks + 1) / 1000
