"""How a test knows that a cluster is where it should be: events are polled for, with a deadline of a minute or two, never slept for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka.admin import AdminClient

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import CLIENT, silent_logger
from tests.cluster.verdict import log_size

DEADLINE = 90.0
PAUSE = 0.1


def eventually(condition: Callable[[], bool], what: str, deadline: float = DEADLINE) -> None:
    until = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < until, f"not within {deadline:.0f} s: {what}"
        time.sleep(PAUSE)


class Watch:
    """Asks the cluster about one topic. The client lives as long as the watch, so that asking is cheap."""

    def __init__(self, cluster: LocalCluster, topic: str, bootstrap: str | None = None) -> None:
        self._cluster = cluster
        self._topic = topic
        self._client = AdminClient(CLIENT | {"bootstrap.servers": bootstrap or cluster.bootstrap}, logger=silent_logger())

    def partitions(self, patience: float = 3.0) -> dict[int, Any]:
        """As the metadata has them; empty while nobody answers."""
        try:
            return dict(self._client.list_topics(self._topic, timeout=patience).topics[self._topic].partitions)
        except KafkaException:
            return {}

    def leaders(self) -> set[int]:
        """Of those who are in a hurry: nobody where it takes long to tell."""
        return {partition.leader for partition in self.partitions(patience=0.5).values()} - {-1}

    def leader(self, partition: int) -> int:
        known = self.partitions().get(partition)
        return known.leader if known is not None else -1

    def follows(self, node: int) -> bool:
        """Whether it is in the ISR of a partition that another node leads, or nobody tells."""
        partitions = self.partitions().values()
        return not partitions or any(node in one.isrs and node != one.leader for one in partitions)

    def elect_preferred(self) -> None:
        """Asks for it, and does not wait for the answer."""
        self._client.elect_leaders(ElectionType.PREFERRED)

    def all_isrs_full(self) -> bool:
        partitions = self.partitions().values()
        return bool(partitions) and all(one.leader >= 0 and sorted(one.isrs) == sorted(one.replicas) for one in partitions)

    def all_in_sync(self) -> bool:
        """Every replica is in its ISR, and all logs of a partition end at the same byte."""
        return self.all_isrs_full() and all(self._same_size(number, one.replicas) for number, one in self.partitions().items())

    def await_in_sync(self, deadline: float = DEADLINE) -> None:
        until = time.monotonic() + deadline
        while not self.all_in_sync():
            assert time.monotonic() < until, f"{self._topic} is not in sync after {deadline:.0f} s: {self._state()}"
            time.sleep(PAUSE)

    def _same_size(self, partition: int, replicas: list[int]) -> bool:
        return len(set(self._sizes(partition, replicas))) == 1

    def _state(self) -> list[str]:
        return [
            f"{number}: leader {one.leader} of {one.replicas}, in sync {one.isrs}, sizes {self._sizes(number, one.replicas)}"
            for number, one in self.partitions().items()
        ]

    def _sizes(self, partition: int, replicas: list[int]) -> list[int]:
        return [log_size(self._cluster.data_path(node), self._topic, partition) for node in replicas]
