"""A recorded load beside the same load without the recorder, in turns; then everything is read back and checked on Spark.

Two topics on the same brokers, so that one load does not read or fill what the other does. Which goes first changes from pair to pair.
All recorded loads are one history: a run's folder like any other, with plan, final reads, verdict and report.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.bench.verified.checking import Checked, check_run
from harness.bench.verified.timed_worker import RECORDED, UNRECORDED, WorkerRound, run_module, time_worker
from harness.errors import EnvironmentFault
from harness.history.files import history_directory
from harness.history.plan import ClockPair, Plan, Promises, write_plan
from harness.run.ending import count
from harness.systems.admin import connect
from workloads.clients import Acks, ClientSettings
from workloads.final_reads import PartitionEnd, save_ends
from workloads.worker_plan import WorkerPlan

FINAL_READER = 1000
_READ_PATIENCE_S = 600.0
_REST_PATIENCE_S = 60.0
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class VerifiedLoad:
    """A closed loop of one Python worker. `seconds` of each load, of which there are two a pair."""

    acks: Acks = "all"
    idempotence: bool = False
    record_bytes: int = 1024
    partitions: int = 6
    replicas: int = 3
    min_insync: int = 2
    linger_ms: float = 5.0
    batch_bytes: int = 1_000_000
    compression: str = "none"
    seconds: float = 3.0
    pairs: int = 3


@dataclass(frozen=True, slots=True)
class Verified:
    """Rates are acknowledged messages a second, pair by pair; `lost` is in no read of all there is in the end."""

    acks: Acks
    run: str
    sent: int
    acknowledged: int
    lost: int
    recorded_rates: tuple[float, ...]
    bare_rates: tuple[float, ...]
    checked: Checked

    @property
    def cost(self) -> float:
        """What recording takes of the rate, from 0 to 1: the median over the pairs. Below 0 where it was faster by chance."""
        return 1 - statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        return [recorded / bare for recorded, bare in zip(self.recorded_rates, self.bare_rates, strict=True)]


def verify_load(load: VerifiedLoad, bootstrap: str, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Verified:
    """On brokers that run, from this machine. The folder is made; the run lies in it, verdict and report included."""
    run, bare = folder / "run", folder / "bare"
    history_directory(run).mkdir(parents=True)
    bare.mkdir()
    run_id = secrets.token_hex(4)
    plan = _worker_plan(load, bootstrap, run, run_id)
    plans = {RECORDED: _saved(plan), UNRECORDED: _saved(replace(plan, run=str(bare), topics=((f"bare-{run_id}", load.partitions),)))}
    _make_topics(load, bootstrap, run_id)
    rounds: dict[str, list[WorkerRound]] = {RECORDED: [], UNRECORDED: []}
    for pair in range(load.pairs):
        for module in (RECORDED, UNRECORDED) if pair % 2 else (UNRECORDED, RECORDED):
            rounds[module].append(time_worker(module, plans[module], pair, load.seconds))
        tell(f"acks={load.acks}: {rounds[RECORDED][-1].rate:,.0f} a second recorded, {rounds[UNRECORDED][-1].rate:,.0f} without")
    _read_back(load, bootstrap, plans[RECORDED], run, f"verified-{run_id}")
    write_plan(run, Plan(0, _promises(load), plan.base_ns, (ClockPair(time.monotonic_ns() - plan.base_ns, time.time_ns()),)))
    counts = count(run)
    rates = {module: tuple(one.rate for one in found) for module, found in rounds.items()}
    return Verified(
        load.acks,
        str(run),
        counts.sends,
        counts.acknowledged,
        counts.never_read,
        rates[RECORDED],
        rates[UNRECORDED],
        check_run(run),
    )


def _worker_plan(load: VerifiedLoad, bootstrap: str, run: Path, run_id: str) -> WorkerPlan:
    return WorkerPlan(
        bootstrap=bootstrap,
        run=str(run),
        run_id=run_id,
        base_ns=time.monotonic_ns(),
        topics=((f"verified-{run_id}", load.partitions),),
        clients=ClientSettings(
            acks=load.acks,
            idempotence=load.idempotence,
            linger_ms=load.linger_ms,
            batch_bytes=load.batch_bytes,
            compression=load.compression,
            delivery_timeout_ms=60_000,
            record_bytes=load.record_bytes,
        ),
        rate=0.0,
        senders=1,
        pollers=0,
        live_partitions=load.partitions,
        writes_per_partition=1_000_000_000,
    )


def _saved(plan: WorkerPlan) -> Path:
    path = Path(plan.run) / "worker-plan.json"
    plan.save(path)
    return path


def _promises(load: VerifiedLoad) -> Promises:
    return Promises(
        acks=load.acks,
        replicas=load.replicas,
        min_insync=load.min_insync,
        unclean=False,
        flush=False,
        idempotence=load.idempotence,
        in_flight=ClientSettings().in_flight,
        isolation="read_uncommitted",
        assignment="assign",
        progress=False,
    )


def _make_topics(load: VerifiedLoad, bootstrap: str, run_id: str) -> None:
    settings = {"min.insync.replicas": str(load.min_insync)}
    with connect(bootstrap) as admin:
        for name in ("verified", "bare"):
            admin.create_topic(f"{name}-{run_id}", load.partitions, load.replicas, settings)


def _read_back(load: VerifiedLoad, bootstrap: str, plan: Path, run: Path, topic: str) -> None:
    ends = run / "ends.json"
    save_ends(ends, _ends_at_rest(load, bootstrap, topic))
    arguments = ["--plan", str(plan), "--ends", str(ends), "--worker", str(FINAL_READER)]
    run_module("workloads.final_reads", arguments, _READ_PATIENCE_S)


def _ends_at_rest(load: VerifiedLoad, bootstrap: str, topic: str) -> list[PartitionEnd]:
    """With every ISR full and no end moving between two looks."""
    deadline = time.monotonic() + _REST_PATIENCE_S
    before: list[PartitionEnd] | None = None
    with connect(bootstrap) as admin:
        while True:
            full = all(len(state.isr) == len(state.replicas) for state in admin.partitions() if state.topic == topic)
            ends = _ends(bootstrap, topic, load.partitions) if full else None
            if ends is not None and ends == before:
                return ends
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"the replicas of {topic} did not come to rest within {_REST_PATIENCE_S:g} s")
            before = ends
            time.sleep(_LOOK_AGAIN_S)


def _ends(bootstrap: str, topic: str, partitions: int) -> list[PartitionEnd]:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "highwater-ends"})
    try:
        spans = [consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=30) for part in range(partitions)]
        return [PartitionEnd(topic, part, low, high) for part, (low, high) in enumerate(spans)]
    finally:
        consumer.close()
