"""From rounds to figures: for each case and system the median and range of every quantity, ratios with their intervals, and what must be
said beside them. Pure; every report is made from this.

A throughput is *client-bound* when the client could not have sent more: its producers hardly ever had to wait, or one of its threads was
always busy. Such a figure is a lower bound of what the broker can do.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.bench.figures.intervals import Ratio, paired_ratio
from harness.bench.figures.latencies import Latencies
from harness.bench.figures.results import LatencyRound, LoadRound, Result
from harness.bench.suites.case import Case, names_of

MB, GB = 1e6, 1e9
_HARDLY_WAITED = 0.05
_ALWAYS_BUSY = 0.9


@dataclass(frozen=True, slots=True)
class Spread:
    """Over the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclass(frozen=True, slots=True)
class AtRate:
    """Latency at one fixed rate, all rounds merged."""

    rate: float
    share: float | None
    publish: Latencies
    end_to_end: Latencies
    unanswered: int
    unread: int


class Cell:
    """One case on one system."""

    def __init__(self, result: Result, case: int, system: int) -> None:
        self.number, self.system = case, system
        self.case: Case = result.cases[case]
        self.loads = sorted((one for one in result.loads if (one.case, one.system) == (case, system)), key=lambda one: one.round)
        self._latencies = [one for one in result.latencies if (one.case, one.system) == (case, system)]
        found = [one for one in result.sustained if (one.case, one.system) == (case, system)]
        self.sustained = found[0].rate if found else None
        self.searched = bool(found)
        kills = [one.lost for one in result.losses if (one.acks, one.system) == (self.case.acks, system)]
        self.lost_under_kills = kills[0] if kills else None

    def spread(self, quantity: Callable[[LoadRound], float]) -> Spread | None:
        return Spread.of([quantity(one) for one in self.loads])

    @cached_property
    def at_rates(self) -> list[AtRate]:
        """By rate, the lowest first."""
        rates = sorted({(one.share is None, one.share or 0.0, one.rate) for one in self._latencies}, key=lambda key: key[2])
        return [self._merged([one for one in self._latencies if one.rate == rate]) for _absolute, _share, rate in rates]

    @cached_property
    def usual_latency(self) -> AtRate | None:
        """At the share nearest to one half, else at the lowest rate."""
        shared = [one for one in self.at_rates if one.share is not None]
        return min(shared, key=lambda one: abs((one.share or 0) - 0.5)) if shared else self.at_rates[0] if self.at_rates else None

    @property
    def client_bound(self) -> bool:
        return bool(self.loads) and statistics.median_high(is_client_bound(one) for one in self.loads)

    def round_percentiles(self, rate: float, percent: float, *, end_to_end: bool = False) -> dict[int, float]:
        """Of each round by itself, where it has samples enough."""
        found = {}
        for one in self._latencies:
            if one.rate == rate:
                value = Latencies(one.end_to_end if end_to_end else one.publish).percentile_ms(percent)
                if value is not None:
                    found[one.round] = value
        return found

    def _merged(self, rounds: Sequence[LatencyRound]) -> AtRate:
        return AtRate(
            rounds[0].rate,
            rounds[0].share,
            Latencies.merged(one.publish for one in rounds),
            Latencies.merged(one.end_to_end for one in rounds),
            sum(one.unanswered for one in rounds),
            sum(one.unread for one in rounds),
        )


class Summary:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.names = names_of(result.cases)
        self.cells = [[Cell(result, case, system) for system in range(len(result.systems))] for case in range(len(result.cases))]

    @property
    def systems(self) -> list[str]:
        return [system.name for system in self.result.systems]

    @cached_property
    def headline(self) -> list[int]:
        """The cases of the first table: they differ from the first in acks and in the number of messages a request alone."""
        first = self.result.cases[0]

        def load(case: Case) -> str:
            return _without(case, "acks", "batch_messages", "linger_ms", "segment_bytes")

        return [number for number, case in enumerate(self.result.cases) if load(case) == load(first)]

    def ratios(self, case: int, other: int) -> Iterator[tuple[str, Ratio, bool]]:
        """Of the first system over the other: what of, how much, and whether more is better."""
        one, two = self.cells[case][0], self.cells[case][other]
        for name, quantity, more_is_better in _RATIOS:
            pairs = [(quantity(mine), quantity(its)) for mine in one.loads for its in two.loads if mine.round == its.round]
            if ratio := paired_ratio(pairs):
                yield name, ratio, more_is_better
        mine, its = one.usual_latency, two.usual_latency
        if mine is None or its is None or mine.rate != its.rate:
            return
        for name, percent, end_to_end in (("p50", 50.0, False), ("p99", 99.0, False), ("end to end p99", 99.0, True)):
            ones, twos = (cell.round_percentiles(mine.rate, percent, end_to_end=end_to_end) for cell in (one, two))
            if ratio := paired_ratio([(ones[number], twos[number]) for number in sorted(ones.keys() & twos.keys())]):
                yield f"{name} at {mine.rate:,.0f} messages/s", ratio, False

    def remarks(self) -> Iterator[str]:
        """What a reader must know before quoting anything."""
        result = self.result
        if not result.c_client:
            yield f"The client was {result.client}: throughput here is the client's, not the brokers'."
        for warm_up in result.warm_ups:
            if not warm_up.warm:
                name, after = result.systems[warm_up.system].name, f"{warm_up.seconds:.0f} s"
                yield f"The warm-up of {name} was cut short after {after}, before its rate had levelled off: its figures may be too low."
        for account in result.lifetimes:
            if account.counted is not None and account.counted < account.messages:
                name, missing = result.systems[account.system].name, account.messages - account.counted
                yield f"{name} acknowledged {missing:,} messages more than its brokers say they took: do not trust its figures."
        disturbances = [*(one.disturbance for one in result.loads), *(one.disturbance for one in result.latencies)]
        stolen = sum(one.steal > result.steal_limit for one in disturbances)
        if stolen:
            limit = f"{result.steal_limit:.0%}"
            yield f"In {stolen} of {len(disturbances)} rounds the host stole more than {limit} of the CPU, though they were tried again."
        few = {one.case for one in result.loads if one.segments < result.least_segments}
        if few:
            names = "; ".join(self.names[case] for case in sorted(few))
            yield f"Fewer than {result.least_segments} segments a partition were written by: {names}."
        if any(cell.client_bound for row in self.cells for cell in row):
            yield "Figures marked “client-bound” are limited by the client: the brokers could take more."


def is_client_bound(one: LoadRound) -> bool:
    return one.waited < _HARDLY_WAITED or one.busiest_thread > _ALWAYS_BUSY


def is_reading_client_bound(one: LoadRound) -> bool:
    return one.reading.busiest_thread > _ALWAYS_BUSY


def mb_s(one: LoadRound) -> float:
    """Until all replicas were equal."""
    return one.bytes / one.replicated_seconds / MB


def mb_s_seen(one: LoadRound) -> float:
    """As the client saw it."""
    return one.bytes / one.seconds / MB


def messages_s(one: LoadRound) -> float:
    return one.messages / one.replicated_seconds


def messages_s_seen(one: LoadRound) -> float:
    return one.messages / one.seconds


def behind_mb(one: LoadRound) -> float:
    return one.behind * one.bytes / one.messages / MB


def read_mb_s(one: LoadRound) -> float:
    return one.reading.bytes / one.reading.seconds / MB


def broker_cpu_gb(one: LoadRound) -> float:
    return (one.broker_cpu.user + one.broker_cpu.system) / (one.bytes / GB)


def broker_user_cpu_gb(one: LoadRound) -> float:
    return one.broker_cpu.user / (one.bytes / GB)


def client_cpu_gb(one: LoadRound) -> float:
    return one.client_cpu / (one.bytes / GB)


def written_per_byte(one: LoadRound) -> float:
    return one.written / one.bytes


def peak_mb(one: LoadRound) -> float:
    """Of the broker that had most."""
    return max(one.peak) / MB


_RATIOS: tuple[tuple[str, Callable[[LoadRound], float], bool], ...] = (
    ("throughput, until all replicas are equal", mb_s, True),
    ("throughput, as the client sees it", mb_s_seen, True),
    ("reading", read_mb_s, True),
    ("CPU of the brokers for a GB", broker_cpu_gb, False),
    ("peak memory of a broker", peak_mb, False),
)


def _without(case: Case, *names: str) -> str:
    return " ".join(word for word in case.key.split() if word.partition("=")[0] not in names)
