"""One measurement on one cluster: a fresh topic, a load, what it cost, everything read back, and the topic gone again.

The order matters. The machine is at rest and the topic whole before the clock starts; brokers' figures count from when the last topic was
gone, so that what a broker prepares between two loads is paid for by the next; what was written is read back and counted, for a fast
figure that lost messages is none. A load during which a leader changed measured an election, and is refused; so is one that lost a replica,
for then “all replicas” were fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.bench.driver import Load, Outcome, Target
from harness.bench.figures.latencies import Latencies
from harness.bench.figures.results import Disturbance, LatencyRound, LoadRound, Reading
from harness.bench.figures.searching import Trial, keeps_up
from harness.bench.side_by_side.cluster import BenchCluster, Usage
from harness.bench.side_by_side.quiet import come_to_rest, disturbance, machine_time
from harness.bench.suites.case import Case, client_settings
from harness.bench.suites.rounds import Slot
from harness.bench.suites.suite import Method
from harness.errors import EnvironmentFault
from harness.systems.system import Leadership

_WARM_UP_SECONDS = 1.0
_WARM_UP_SHARE = 0.25
Numbers = npt.NDArray[np.int64]


class Unsteady(EnvironmentFault):
    """A leader changed, or a replica fell out of sync, while it was measured: that is no figure of a cluster at work."""


class Messages(NamedTuple):
    """Of a load at a fixed rate, in the order in which they were due; times in microseconds."""

    due: Numbers
    acked: Numbers
    unanswered: int


class Measuring:
    """One cluster's measurements. Invariant: `_counted` is the usage when the last topic was gone, or when the cluster had started."""

    def __init__(self, cluster: BenchCluster, method: Method) -> None:
        self._cluster, self._method = cluster, method
        self._topics = 0
        self._counted = cluster.usage()
        self.messages = self.bytes = 0
        """Acknowledged since the cluster started."""

    def load(self, case: Case, slot: Slot, repeated: int) -> LoadRound:
        cluster = self._cluster
        with self._topic(case) as target:
            at_start = cluster.usage(reset_peaks=True)
            before = machine_time()
            outcome = self._produce(target, _full_load(case, self._method))
            after, used = machine_time(), cluster.usage()
            disturbed = disturbance(before, after, _spent(at_start, used) + outcome.cpu_seconds)
            reading = self._read_back(target, case, outcome)
            return _load_round(slot, case, outcome, self._counted, used, reading, disturbed, repeated)

    def warm_up(self, case: Case, *, whole: bool) -> float:
        """Messages a second. `whole`: under a load like those that are measured, instead of a short one."""
        with self._topic(case) as target:
            load = _full_load(case, self._method)
            if not whole:
                load = replace(load, seconds=_WARM_UP_SECONDS, least=0, count=max(int(load.count * _WARM_UP_SHARE), 1))
            outcome = self._produce(target, load)
            self._read_back(target, case, outcome)
            return outcome.messages / outcome.replicated_seconds

    def latency(self, case: Case, slot: Slot, rate: float, share: float | None, repeated: int) -> LatencyRound:
        with self._topic(case) as target:
            load = self._steady_load(case, rate, self._method.latency_seconds)
            at_start, before = self._cluster.usage(), machine_time()
            outcome = self._produce(target, load, all_acknowledged=False)
            disturbed = disturbance(before, machine_time(), _spent(at_start, self._cluster.usage()) + outcome.cpu_seconds)
        assert load.deliveries is not None and load.received is not None
        messages = read_messages(load.deliveries)
        receipts = np.fromfile(load.received, dtype=np.int64).reshape(-1, 2)
        none = np.empty(0, np.int64)
        publish = Latencies.of(none if case.acks == "0" else messages.acked - messages.due)
        return LatencyRound(
            slot.system, slot.case, slot.round, rate, share,
            outcome.messages, outcome.seconds, messages.unanswered, outcome.messages - outcome.received,
            publish.encoded(), Latencies.of(receipts[:, 1] - receipts[:, 0]).encoded(), disturbed, repeated,
        )  # fmt: skip

    def trial(self, case: Case, rate: float) -> Trial:
        with self._topic(case) as target:
            load = replace(self._steady_load(case, rate, self._method.search_seconds), received=None, replicated=True)
            outcome = self._produce(target, load, all_acknowledged=False)
        assert load.deliveries is not None
        messages = read_messages(load.deliveries)
        return Trial(rate, keeps_up(messages.due, messages.acked, messages.unanswered, outcome.behind, rate))

    def usage(self) -> Usage:
        return self._cluster.usage()

    @contextmanager
    def _topic(self, case: Case) -> Iterator[Target]:
        self._topics += 1
        name = f"bench-{self._topics}"
        come_to_rest()
        leaders = self._cluster.make_topic(name, case)
        yield self._cluster.target(name, case)
        now = self._cluster.leadership(name)
        self._cluster.drop_topic(name)
        self._counted = self._cluster.usage()
        if _state(now) != _state(leaders):
            raise Unsteady(f"{self._cluster.contender.name}: a leader changed or a replica fell out of sync under the load")

    def _produce(self, target: Target, load: Load, *, all_acknowledged: bool = True) -> Outcome:
        load = replace(load, payload=self._cluster.tools.payload)
        outcome = self._cluster.run_client(self._cluster.tools.driver.produce_command(target, load))
        if all_acknowledged and (outcome.errors or not outcome.messages):
            name = self._cluster.contender.name
            raise EnvironmentFault(f"{name}: {outcome.errors} messages were not acknowledged ({outcome.first_error or 'none was sent'})")
        self.messages += outcome.messages + outcome.warmup
        self.bytes += outcome.bytes + outcome.warmup * load.size
        return outcome

    def _read_back(self, target: Target, case: Case, outcome: Outcome) -> Reading:
        expected = outcome.messages + outcome.warmup
        command = self._cluster.tools.driver.consume_command(target, expected, {}, case.consumers)
        read = self._cluster.run_client(command)
        if read.messages != expected:
            raise EnvironmentFault(f"{self._cluster.contender.name}: {expected:,} messages were acknowledged, {read.messages:,} are there")
        return Reading(read.messages, read.bytes, read.seconds, read.cpu_seconds, _share(read.busiest_thread_seconds, read.seconds))

    def _steady_load(self, case: Case, rate: float, seconds: float) -> Load:
        client = Path(self._cluster.nodes.client.folder)
        return Load(
            case.record_bytes, int(rate * seconds) + 1, seconds, client_settings(case), rate,
            deliveries=client / "deliveries", received=client / "received", producers=case.producers, consumers=case.consumers,
        )  # fmt: skip


def read_messages(path: Path) -> Messages:
    rows = np.fromfile(path, dtype=np.int64).reshape(-1, 3)
    good = rows[(rows[:, 1] > 0) & (rows[:, 2] == 0)]
    good = good[np.argsort(good[:, 0], kind="stable")]
    return Messages(good[:, 0], good[:, 1], len(rows) - len(good))


def _full_load(case: Case, method: Method) -> Load:
    most = max(method.most_mb * 1_000_000 // case.record_bytes, 1)
    least = min(method.least_segments * case.segment_bytes * case.partitions // case.record_bytes, most) if case.batch_messages > 1 else 0
    settings = client_settings(case)
    return Load(
        case.record_bytes, most, method.load_seconds, settings, least=least, producers=case.producers, replicated=True,
    )  # fmt: skip


def _load_round(
    slot: Slot, case: Case, outcome: Outcome, before: Usage, after: Usage, reading: Reading, disturbed: Disturbance, repeated: int
) -> LoadRound:
    return LoadRound(
        system=slot.system,
        case=slot.case,
        round=slot.round,
        messages=outcome.messages,
        bytes=outcome.bytes,
        seconds=outcome.seconds,
        replicated_seconds=max(outcome.replicated_seconds, outcome.seconds),
        behind=outcome.behind,
        client_cpu=outcome.cpu_seconds,
        waited=_share(outcome.waited_seconds, outcome.seconds),
        busiest_thread=_share(outcome.busiest_thread_seconds, outcome.seconds),
        broker_cpu=after.cpu - before.cpu,
        written=after.written - before.written,
        fsyncs=after.fsyncs - before.fsyncs if after.fsyncs is not None and before.fsyncs is not None else None,
        peak=after.peak,
        segments=outcome.bytes / case.partitions / case.segment_bytes,
        reading=reading,
        disturbance=disturbed,
        repeated=repeated,
    )


def _state(leaders: dict[tuple[str, int], Leadership]) -> dict[int, tuple[int, frozenset[str]]]:
    return {partition: (one.epoch, frozenset(one.isr)) for (_topic, partition), one in leaders.items()}


def _spent(before: Usage, after: Usage) -> float:
    spent = after.cpu - before.cpu
    return spent.user + spent.system


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
