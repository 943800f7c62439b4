"""How long nobody can write when a leader is killed, or stops cleanly: the longest silence between two acknowledgements.

A steady load with acks=all on one partition of three replicas, from a client that asks for news at once where it would by
default wait a while; what is left is the cluster's own time. The leader may be the controller as well, and then both have
to be found anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from harness.bench.deliveries import longest_silence_ms, read_deliveries
from harness.bench.driver import Driver, Load, Target, finish
from harness.bench.throughput import drop_topic, make_topic
from harness.errors import EnvironmentFault
from harness.systems.admin import connect
from harness.systems.local_cluster import LocalCluster

RATE = 1000.0
SIZE = 100
BEFORE_S = 1.0
_PATIENCE_S = 30.0
_EAGER: dict[str, str | int] = {
    "acks": "all",
    "enable.idempotence": "true",
    "linger.ms": 0,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 20,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "topic.metadata.refresh.interval.ms": 50,
    "topic.metadata.refresh.fast.interval.ms": 10,
    "message.timeout.ms": 60_000,
}


@dataclass(frozen=True, slots=True)
class Outage:
    how: str
    controller: bool
    silence_ms: float
    lost: int
    """Messages that were never acknowledged."""


def measure_outage(cluster: LocalCluster, driver: Driver, how: str, controller: bool, session_s: float) -> Outage:
    topic = f"outage-{how}-{'controller' if controller else 'leader'}"
    leader = _place(cluster, topic, controller)
    path = cluster.directory / "deliveries"
    seconds = BEFORE_S + (session_s + 3 if how == "killed" else 3)
    load = Load(SIZE, int(RATE * seconds) + 1, seconds, _EAGER, RATE, path)
    process = driver.start_produce(Target(cluster.bootstrap, topic, 1), load)
    try:
        time.sleep(BEFORE_S)
        struck = time.monotonic_ns() // 1000
        if how == "killed":
            cluster.kill(leader)
        else:
            cluster.stop_node(leader)
        finish(process)
    finally:
        process.kill()
        process.wait()
    deliveries = read_deliveries(path)
    cluster.start_node(leader)
    cluster.wait_ready()
    _await_in_sync(cluster, topic)
    drop_topic(cluster, topic)
    return Outage(how, controller, longest_silence_ms(deliveries.acked_us, struck), deliveries.failed)


def _place(cluster: LocalCluster, topic: str, controller: bool) -> int:
    """A topic whose only partition is led by the controller, or by another."""
    for _ in range(20):
        leader = make_topic(cluster, topic, 1, 3)
        if (leader == cluster.controller()) == controller:
            _await_in_sync(cluster, topic)
            return leader
        drop_topic(cluster, topic)
    raise EnvironmentFault(f"no partition came to be led by {'the' if controller else 'another than the'} controller")


def _await_in_sync(cluster: LocalCluster, topic: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    with connect(cluster.bootstrap) as admin:
        while not all(len(state.isr) == len(state.replicas) for state in admin.partitions() if state.topic == topic):
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"the replicas of {topic} did not come back in sync")
            time.sleep(0.05)
