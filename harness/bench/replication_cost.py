"""What three replicas and acks=all cost beside one replica and acks=1: the same client, the same brokers, in turns.

As with the floor, a ratio is made of neighbours in time, and the middle one counts: the rows of the table are minutes apart.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from harness.bench.driver import Driver, Target
from harness.bench.effort import PARTITIONS, Effort
from harness.bench.throughput import drop_topic, fill, full_load, make_topic
from harness.systems.local_cluster import LocalCluster

SIZE = 1024


@dataclass(frozen=True, slots=True)
class ReplicationCost:
    """MB/s, one figure a round."""

    one: tuple[float, ...]
    three: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(three / one for one, three in zip(self.one, self.three, strict=True))


def measure_replication_cost(cluster: LocalCluster, driver: Driver, effort: Effort) -> ReplicationCost:
    rounds = [
        (_mb_s(cluster, driver, effort, f"one-{number}", 1, "1"), _mb_s(cluster, driver, effort, f"three-{number}", 3, "all"))
        for number in range(effort.pairs)
    ]
    return ReplicationCost(tuple(one for one, _three in rounds), tuple(three for _one, three in rounds))


def _mb_s(cluster: LocalCluster, driver: Driver, effort: Effort, topic: str, replicas: int, acks: str) -> float:
    make_topic(cluster, topic, PARTITIONS, replicas)
    produced = fill(driver, Target(cluster.bootstrap, topic, PARTITIONS), full_load(acks, SIZE, effort.produce_s))
    drop_topic(cluster, topic)
    return produced.mb_per_s
