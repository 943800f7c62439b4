"""A whole benchmark: starts measured alone, every cluster warmed up, then the rounds, side by side. What is measured, and in which order.

Only one cluster is awake at a time. Throughput comes first, because the fixed rates of the latency rounds are shares of what the slowest
system reached; all systems get the same rates.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from harness.bench.figures.results import LatencyRound, Lifetime, LoadRound, Start, Sustained, WarmUp
from harness.bench.figures.searching import Trial, highest_kept, next_rate
from harness.bench.figures.warming import is_warm
from harness.bench.side_by_side.cluster import BenchCluster
from harness.bench.side_by_side.contenders import Contender
from harness.bench.side_by_side.measuring import Measuring, Unsteady
from harness.bench.side_by_side.quiet import touch_memory
from harness.bench.side_by_side.tools import Tools
from harness.bench.suites.case import Case, Measure, names_of
from harness.bench.suites.rounds import order_of_rounds
from harness.bench.suites.suite import Suite

_TOUCHED_LOADS = 4
_UNSTEADY = 3
_Any = TypeVar("_Any")
_Round = TypeVar("_Round", LoadRound, LatencyRound)
Say = Callable[[str], None]


@dataclass(slots=True)
class Measured:
    starts: list[Start] = field(default_factory=list)
    warm_ups: list[WarmUp] = field(default_factory=list)
    loads: list[LoadRound] = field(default_factory=list)
    sustained: list[Sustained] = field(default_factory=list)
    latencies: list[LatencyRound] = field(default_factory=list)
    lifetimes: list[Lifetime] = field(default_factory=list)


class Session:
    """Invariant: of `_clusters` exactly one is awake whenever something is measured."""

    def __init__(
        self, suite: Suite, contenders: Sequence[Contender], tools: Tools, work: Path, *, warm_up_s: float | None, seed: int, say: Say
    ) -> None:
        self._suite, self._contenders, self._tools, self._work = suite, contenders, tools, work
        self._cases: list[Case] = suite.cases
        self._names = names_of(self._cases)
        self._warm_up_s, self._seed, self._say = warm_up_s, seed, say
        self._clusters: list[BenchCluster] = []
        self._measuring: list[Measuring] = []
        self.measured = Measured()

    def run(self) -> Measured:
        touch_memory(self._work / "touched", _TOUCHED_LOADS * self._suite.method.most_mb * 1_000_000)
        self._measure_starts()
        with ExitStack() as open_clusters:
            for number in range(len(self._contenders)):
                self._add_cluster(number, open_clusters)
                self._warm_up(number)
            self._measure_throughput()
            self._search()
            self._measure_latency()
            self._close_accounts()
        return self.measured

    def _measure_starts(self) -> None:
        for _ in range(self._suite.method.starts):
            for number, contender in enumerate(self._contenders):
                cluster = BenchCluster(
                    contender, self._suite.nodes, self._work / f"start-{number}-{len(self.measured.starts)}", self._tools
                )
                try:
                    seconds, used = cluster.start(), cluster.usage()
                finally:
                    cluster.close()
                self.measured.starts.append(Start(number, seconds, used.cpu.user + used.cpu.system, used.resident))
                self._say(f"{contender.name}: started in {seconds:.2f} s, {max(used.resident) / 1e6:.0f} MB a broker")

    def _add_cluster(self, number: int, open_clusters: ExitStack) -> None:
        for other in self._clusters:
            if not other.paused:
                other.pause()
        cluster = BenchCluster(self._contenders[number], self._suite.nodes, self._work / f"cluster-{number}", self._tools)
        open_clusters.callback(cluster.close)
        cluster.start()
        self._clusters.append(cluster)
        self._measuring.append(Measuring(cluster, self._suite.method))

    def _warm_up(self, number: int) -> None:
        method, jit = self._suite.method, self._contenders[number].compiles_itself
        usual = method.warm_up_jit if jit else method.warm_up
        limit = self._warm_up_s if self._warm_up_s is not None else usual
        began, loads, cases = time.monotonic(), list[tuple[int, float]](), self._measured_by("throughput")
        while not (warm := is_warm(loads, compiles_itself=jit)) and time.monotonic() - began < limit:
            case = cases[len(loads) % len(cases)]
            loads.append((case, self._steadily(partial(self._measuring[number].warm_up, self._cases[case], whole=jit))))
        taken = time.monotonic() - began
        self.measured.warm_ups.append(WarmUp(number, taken, warm, tuple(loads)))
        self._say(f"{self._contenders[number].name}: {'warm' if warm else 'warm-up cut short'} after {taken:.0f} s, {len(loads)} loads")

    def _measure_throughput(self) -> None:
        rounds = self._suite.method.rounds
        for slot in order_of_rounds(rounds, self._measured_by("throughput"), len(self._clusters), self._seed):
            measuring, case = self._awake(slot.system), self._cases[slot.case]
            found = self._undisturbed(partial(measuring.load, case, slot))
            self.measured.loads.append(found)
            rate = found.bytes / found.replicated_seconds / 1e6
            self._say(
                f"round {slot.round} of {rounds}, {self._names[slot.case]}, {self._contenders[slot.system].name}: {rate:.0f} MB/s, "
                f"{found.messages / found.replicated_seconds:,.0f} messages/s, steal {found.disturbance.steal:.0%}"
            )

    def _search(self) -> None:
        steps = self._suite.method.search_steps
        for slot in order_of_rounds(1, self._measured_by("sustainable"), len(self._clusters), self._seed):
            measuring, case, trials = self._awake(slot.system), self._cases[slot.case], list[Trial]()
            first = self._reach(slot.case, slot.system)
            for _ in range(steps):
                rate = next_rate(trials, first)
                trials.append(self._steadily(partial(measuring.trial, case, rate)))
            best = highest_kept(trials)
            self.measured.sustained.append(Sustained(slot.system, slot.case, best, tuple((trial.rate, trial.kept_up) for trial in trials)))
            found = f"{best:,.0f} messages/s can be kept up" if best is not None else "no rate that was tried can be kept up"
            self._say(f"{self._names[slot.case]}, {self._contenders[slot.system].name}: {found}")

    def _measure_latency(self) -> None:
        rounds = self._suite.method.rounds
        for slot in order_of_rounds(rounds, self._measured_by("latency"), len(self._clusters), self._seed + 1):
            measuring, case = self._awake(slot.system), self._cases[slot.case]
            for rate, share in self._rates(slot.case):
                found = self._undisturbed(partial(measuring.latency, case, slot, rate, share))
                self.measured.latencies.append(found)
            self._say(f"latency, round {slot.round} of {rounds}, {self._names[slot.case]}, {self._contenders[slot.system].name}")

    def _rates(self, case: int) -> Iterator[tuple[float, float | None]]:
        method = self._suite.method
        slowest = min(self._reach(case, number) for number in range(len(self._clusters)))
        yield from ((rate, None) for rate in method.latency_rates)
        yield from ((slowest * share, share) for share in method.latency_shares)

    def _reach(self, case: int, system: int) -> float:
        """Messages a second, until all replicas were equal."""
        rounds = [one for one in self.measured.loads if (one.case, one.system) == (case, system)]
        return statistics.median(one.messages / one.replicated_seconds for one in rounds)

    def _close_accounts(self) -> None:
        for number, measuring in enumerate(self._measuring):
            self._awake(number)
            used, counted = measuring.usage(), self._clusters[number].messages_counted()
            account = Lifetime(number, used.cpu, measuring.messages, measuring.bytes, counted, used.written, used.fsyncs)
            self.measured.lifetimes.append(account)

    def _measured_by(self, what: Measure) -> list[int]:
        return [number for number, case in enumerate(self._cases) if what in case.measure]

    def _awake(self, system: int) -> Measuring:
        for number, cluster in enumerate(self._clusters):
            if number != system and not cluster.paused:
                cluster.pause()
        if self._clusters[system].paused:
            self._clusters[system].resume()
        return self._measuring[system]

    def _undisturbed(self, measure: Callable[[int], _Round]) -> _Round:
        """Again where too much was stolen, some times; the last try counts whatever befell it, and says so."""
        method = self._suite.method
        for repeated in range(method.repeats + 1):
            found = self._steadily(partial(measure, repeated))
            if found.disturbance.steal <= method.steal_limit:
                break
        return found

    def _steadily(self, measure: Callable[[], _Any]) -> _Any:
        """Again, some times, where the cluster was not steady."""
        for _ in range(_UNSTEADY):
            try:
                return measure()
            except Unsteady as problem:
                self._say(f"{problem}; once more")
        return measure()
