"""A recorded load beside the same load without the recorder, in turns, then everything read back: one command, run where clients run.

`python -m harness.bench.verified.pairs JSON`, with the load, the brokers and the folder in it, prints the rates as JSON. It is a command
so that it can run on a clients' node as well as here; what it recorded lies in the folder `run` there, to be checked by whoever asked.

Two topics on the same brokers, so that one load does not read or fill what the other does. Which goes first changes from pair to pair.
All recorded loads are one history.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from harness.bench.verified.timed_worker import RECORDED, UNRECORDED, run_module, time_worker
from harness.errors import EnvironmentFault, HighwaterError
from harness.history.files import history_directory
from harness.history.plan import ClockPair, Plan, Promises, write_plan
from harness.systems.admin import connect
from workloads.clients import Acks, ClientSettings
from workloads.final_reads import PartitionEnd, save_ends
from workloads.worker_plan import WorkerPlan

FINAL_READER = 1000
RUN, BARE = "run", "bare"
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
class Rates:
    """Acknowledged messages a second, pair by pair."""

    recorded: tuple[float, ...]
    bare: tuple[float, ...]


def record_pairs(load: VerifiedLoad, bootstrap: str, folder: Path) -> Rates:
    """On brokers that this process reaches. The folder is made, and a run without a verdict lies in it."""
    run, bare = folder / RUN, folder / BARE
    history_directory(run).mkdir(parents=True)
    bare.mkdir()
    run_id = secrets.token_hex(4)
    topics = {RECORDED: f"verified-{run_id}", UNRECORDED: f"bare-{run_id}"}
    plan = _worker_plan(load, bootstrap, run, run_id, topics[RECORDED])
    plans = {RECORDED: _saved(plan), UNRECORDED: _saved(replace(plan, run=str(bare), topics=((topics[UNRECORDED], load.partitions),)))}
    _make_topics(load, bootstrap, list(topics.values()))
    rates: dict[str, list[float]] = {RECORDED: [], UNRECORDED: []}
    for pair in range(load.pairs):
        for module in (RECORDED, UNRECORDED) if pair % 2 else (UNRECORDED, RECORDED):
            rates[module].append(time_worker(module, plans[module], pair, load.seconds))
    _read_back(load, bootstrap, plans[RECORDED], run, topics[RECORDED])
    write_plan(run, Plan(0, _promises(load), plan.base_ns, (ClockPair(time.monotonic_ns() - plan.base_ns, time.time_ns()),)))
    return Rates(tuple(rates[RECORDED]), tuple(rates[UNRECORDED]))


def _worker_plan(load: VerifiedLoad, bootstrap: str, run: Path, run_id: str, topic: str) -> WorkerPlan:
    return WorkerPlan(
        bootstrap=bootstrap,
        run=str(run),
        run_id=run_id,
        base_ns=time.monotonic_ns(),
        topics=((topic, load.partitions),),
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


def _make_topics(load: VerifiedLoad, bootstrap: str, names: list[str]) -> None:
    with connect(bootstrap) as admin:
        for name in names:
            admin.create_topic(name, load.partitions, load.replicas, {"min.insync.replicas": str(load.min_insync)})


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


def main() -> int:
    asked = json.loads(sys.argv[1])
    try:
        rates = record_pairs(VerifiedLoad(**asked["load"]), asked["bootstrap"], Path(asked["folder"]))
    except (HighwaterError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"recorded": rates.recorded, "bare": rates.bare}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
