"""One row of the table: a topic is filled, read back, asked in single messages and at half its load; then it goes.

Everything is asked of the same fresh topic, so that a row knows nothing of the one before. With acks=1 the leaders may run
ahead of their followers; how far they were ahead in the end belongs to the figure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.bench.deliveries import percentile, read_deliveries
from harness.bench.driver import Driver, Load, Outcome, Target, drive_raw
from harness.bench.effort import CAP_BYTES, PARTITIONS, Effort
from harness.bench.raw_driver import RawTask
from harness.bench.usage import GB, MB, Cpu, cpu_of, peak_mb, reset_peaks
from harness.errors import EnvironmentFault
from harness.systems.admin import connect
from harness.systems.local_cluster import LocalCluster

SINGLE_WINDOW = 64
_ACKS = {"0": 0, "1": 1, "all": -1}
_QUEUE = {"queue.buffering.max.kbytes": 65_536, "queue.buffering.max.messages": 1_000_000}


@dataclass(frozen=True, slots=True)
class Row:
    replicas: int
    acks: str
    size: int
    produce_mb_s: float
    messages_s: float
    cpu_per_gb: Cpu
    behind_mb: float
    """By how much the slowest replica was behind when the last message was acknowledged."""
    fetch_mb_s: float
    single_s: float
    p50_ms: float
    p99_ms: float
    peak_mb: float


def measure_row(cluster: LocalCluster, driver: Driver, effort: Effort, replicas: int, acks: str, size: int) -> Row:
    topic = f"bench-{replicas}-{acks}-{size}"
    pids = broker_pids(cluster)
    target = Target(cluster.bootstrap, topic, PARTITIONS)
    load = full_load(acks, size, effort.produce_s)
    leader = make_topic(cluster, topic, PARTITIONS, replicas)
    reset_peaks(pids)
    before = cpu_of(pids)
    produced = fill(driver, target, load)
    behind = behind_mb(cluster, topic, PARTITIONS)
    wait_equal(cluster, topic, PARTITIONS)
    cpu = (cpu_of(pids) - before) / (produced.bytes / GB)
    fetched = driver.consume(target, produced.messages + produced.warmup, {})
    if fetched.messages != produced.messages + produced.warmup:
        raise EnvironmentFault(f"{topic}: {produced.messages + produced.warmup} messages were written, {fetched.messages} read")
    address = cluster.plan.nodes[leader - 1].address
    single = drive_raw(RawTask(address, topic, 0, _ACKS[acks], size + 80, 1, SINGLE_WINDOW, effort.single_s))
    p50, p99 = _latency(cluster, driver, target, replace(load, seconds=effort.latency_s, rate=produced.messages_per_s / 2), acks)
    peak = peak_mb(pids)
    drop_topic(cluster, topic)
    singles = single["requests"] / single["seconds"]
    return Row(replicas, acks, size, produced.mb_per_s, produced.messages_per_s, cpu, behind, fetched.mb_per_s, singles, p50, p99, peak)


def full_load(acks: str, size: int, seconds: float) -> Load:
    return Load(size, CAP_BYTES // size, seconds, {"acks": acks, **_QUEUE})


def fill(driver: Driver, target: Target, load: Load) -> Outcome:
    produced = driver.produce(target, load)
    if produced.errors or not produced.messages:
        raise EnvironmentFault(f"{target.topic}: {produced.errors} messages were not acknowledged ({produced.first_error})")
    return produced


def broker_pids(cluster: LocalCluster) -> list[int]:
    return [pid for node in cluster.ids if (pid := cluster.pid(node)) is not None]


def make_topic(cluster: LocalCluster, topic: str, partitions: int, replicas: int) -> int:
    """Returns the leader of partition 0."""
    with connect(cluster.bootstrap) as admin:
        admin.create_topic(topic, partitions, replicas, {"file.delete.delay.ms": "0"})
        _wait_known(cluster)
        return next(state.leader for state in admin.partitions() if state.topic == topic and state.partition == 0)


def drop_topic(cluster: LocalCluster, topic: str, patience_s: float = 30.0) -> None:
    """Returns when its files are gone: removing gigabytes takes time that the next measurement would pay for."""
    with connect(cluster.bootstrap) as admin:
        admin.delete_topic(topic)
    deadline = time.monotonic() + patience_s
    while any(folder for node in cluster.ids for folder in cluster.data_path(node).glob(f"{topic}-*")) and time.monotonic() < deadline:
        time.sleep(0.02)


def behind_mb(cluster: LocalCluster, topic: str, partitions: int) -> float:
    """What the slowest replica of each partition lacks, summed up."""
    return sum(max(sizes) - min(sizes) for sizes in (_log_sizes(cluster, topic, index) for index in range(partitions)) if sizes) / MB


def wait_equal(cluster: LocalCluster, topic: str, partitions: int, tries: int = 2000) -> None:
    """Until all replicas have the same; the work of catching up belongs to the row that caused it."""
    for _ in range(tries):
        if behind_mb(cluster, topic, partitions) == 0:
            return
        time.sleep(0.01)
    raise EnvironmentFault(f"the replicas of {topic} did not catch up")


def _wait_known(cluster: LocalCluster, patience_s: float = 30.0) -> None:
    """Until every broker has read as far in the metadata as the first of them."""
    deadline = time.monotonic() + patience_s
    while True:
        offsets = [health.metadata_offset if (health := cluster.health(node)) else -1 for node in cluster.ids if cluster.alive(node)]
        if min(offsets) == max(offsets):
            return
        if time.monotonic() > deadline:
            raise EnvironmentFault(f"the brokers do not agree on the metadata: {offsets}")
        time.sleep(0.01)


def _log_sizes(cluster: LocalCluster, topic: str, index: int) -> list[int]:
    folders = [cluster.data_path(node) / f"{topic}-{index}" for node in cluster.ids]
    return [_total(folder.glob("*.log")) for folder in folders if folder.is_dir()]


def _total(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _latency(cluster: LocalCluster, driver: Driver, target: Target, load: Load, acks: str) -> tuple[float, float]:
    """At half of what the row reached; without acknowledgements there is no latency to speak of."""
    if acks == "0":
        return math.nan, math.nan
    path = cluster.directory / "deliveries"
    driver.produce(target, replace(load, deliveries=path, count=int(load.rate * load.seconds) + 1))
    latencies = read_deliveries(path).latencies_ms
    return percentile(latencies, 50), percentile(latencies, 99)
