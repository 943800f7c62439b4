"""What partitions cost that nobody uses: the memory of a broker that has a thousand of them, and its start after a clean stop.

A broker alone on its own controller, so that nothing but itself is waited for; of a few starts the middle one counts. The clock runs
from the start of the process; a broker that is up answers on its port, and one that serves says so in /health.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.bench.throughput import broker_pids, make_topic
from harness.bench.usage import cpu_of, resident_mb
from harness.errors import EnvironmentFault
from harness.systems.free_ports import LOOPBACK
from harness.systems.local_cluster import LocalCluster

RESTARTS = 3
_POLL_S = 0.005
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Idle:
    partitions: int
    resident_mb: float
    """After the restart: what is needed, not what creating them left behind."""
    listening_s: float
    running_s: float
    start_cpu_s: float
    """What the start took of a core: the figure that a busy machine does not change much."""
    empty_running_s: float
    """The same broker's first start, without any partition."""


def measure_idle(directory: Path, partitions: int) -> Idle:
    cluster = LocalCluster.create(directory, 1)
    node = cluster.ids[0]
    started = time.monotonic()
    with cluster:
        empty = time.monotonic() - started
        make_topic(cluster, "idle", partitions, 1)
        restarts = [_restart(cluster, node, partitions, empty) for _ in range(RESTARTS)]
    return sorted(restarts, key=lambda restart: restart.running_s)[RESTARTS // 2]


def _restart(cluster: LocalCluster, node: int, partitions: int, empty_running_s: float) -> Idle:
    if not cluster.stop_node(node):
        raise EnvironmentFault("the broker did not stop in time")
    started = time.monotonic()
    cluster.start_node(node)
    listening = _seconds_until(lambda: _listens(cluster.plan.nodes[0].port), started)
    running = _seconds_until(lambda: _runs(cluster, node), started)
    [pid] = broker_pids(cluster)
    cpu = cpu_of([pid])
    return Idle(partitions, resident_mb(pid), listening, running, cpu.user + cpu.system, empty_running_s)


def _seconds_until(condition: Callable[[], bool], started: float) -> float:
    while not condition():
        if time.monotonic() - started > _PATIENCE_S:
            raise EnvironmentFault("the broker did not come back")
        time.sleep(_POLL_S)
    return time.monotonic() - started


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _runs(cluster: LocalCluster, node: int) -> bool:
    health = cluster.health(node)
    return health is not None and health.ready
