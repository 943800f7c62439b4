"""One broker, one partition, one connection, batches of 64 KiB, beside the floor: the same bytes from the same client.

The two take turns, because a shared machine is slower in one minute than in the next; a ratio is made of neighbours in time, and
the middle one counts.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.bench.driver import drive_raw, start
from harness.bench.effort import Effort
from harness.bench.floor import TOPIC as FLOOR_TOPIC
from harness.bench.raw_driver import RawTask
from harness.bench.throughput import drop_topic, make_topic
from harness.bench.usage import GB, Cpu, cpu_of
from harness.errors import EnvironmentFault
from harness.systems.free_ports import LOOPBACK
from harness.systems.local_cluster import LocalCluster

BATCH = 65_536
WINDOW = 8


@dataclass(frozen=True, slots=True)
class Pass:
    mb_s: float
    cpu_per_gb: Cpu


@dataclass(frozen=True, slots=True)
class AgainstFloor:
    broker: Pass
    floor: Pass
    ratio: float

    @property
    def user_added_per_gb(self) -> float:
        return self.broker.cpu_per_gb.user - self.floor.cpu_per_gb.user


def measure_against_floor(cluster: LocalCluster, effort: Effort, directory: Path) -> AgainstFloor:
    pairs = []
    for number in range(effort.pairs):
        pairs.append((_broker_pass(cluster, effort, f"raw-{number}"), _floor_pass(effort, directory / f"floor-{number}")))
    ratios = [broker.mb_s / floor.mb_s for broker, floor in pairs]
    return AgainstFloor(_middle([broker for broker, _ in pairs]), _middle([floor for _, floor in pairs]), statistics.median(ratios))


@contextmanager
def floor_process(path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Its address, and the process."""
    process = start([sys.executable, "-m", "harness.bench.floor", str(path)])
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise EnvironmentFault(f"the floor did not start: {process.communicate()[1]}")
        yield f"{LOOPBACK}:{port}", process
    finally:
        process.kill()
        process.communicate()
        path.unlink(missing_ok=True)


def _broker_pass(cluster: LocalCluster, effort: Effort, topic: str) -> Pass:
    leader = make_topic(cluster, topic, 1, 1)
    pid = cluster.pid(leader)
    assert pid is not None
    task = RawTask(cluster.plan.nodes[leader - 1].address, topic, batch=BATCH, window=WINDOW, seconds=effort.floor_s)
    result = _measure(task, pid)
    drop_topic(cluster, topic)
    return result


def _floor_pass(effort: Effort, path: Path) -> Pass:
    with floor_process(path) as (address, process):
        return _measure(RawTask(address, FLOOR_TOPIC, batch=BATCH, window=WINDOW, seconds=effort.floor_s), process.pid)


def _measure(task: RawTask, pid: int, drive: Callable[[RawTask], dict[str, float]] = drive_raw) -> Pass:
    before = cpu_of([pid])
    result = drive(task)
    return Pass(result["bytes"] / result["seconds"] / 1e6, (cpu_of([pid]) - before) / (result["bytes"] / GB))


def _middle(passes: list[Pass]) -> Pass:
    return sorted(passes, key=lambda one: one.mb_s)[len(passes) // 2]
