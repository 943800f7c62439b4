"""A running cluster as the tests see it: connections to single brokers, who leads what, and the brokers' own numbers."""

from __future__ import annotations

import itertools
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from broker_impl.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from broker_impl.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic
from harness.systems.local_cluster import LocalCluster
from tests.clients.interface import PATIENCE
from tests.clients.wire import WireClient

_numbers = itertools.count()


class Running:
    """Everything a test changes about the brokers it puts back: others use the same cluster."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.bootstrap = cluster.bootstrap
        self.nodes = cluster.ids

    def wire(self, node: int = 1) -> WireClient:
        place = self.cluster.plan.nodes[node - 1]
        return WireClient("127.0.0.1", place.port)

    def new_topic(self, *, partitions: int = 1, replicas: list[int] | None = None, **configs: object) -> str:
        """A topic that every broker knows; settings with _ for the dots."""
        name = f"of-a-test-{next(_numbers)}"
        places = [] if replicas is None else [CreatableReplicaAssignment(index, replicas) for index in range(partitions)]
        settings = [CreatableTopicConfig(key.replace("_", "."), str(value)) for key, value in configs.items()]
        counted = (partitions, -1) if replicas is None else (-1, -1)
        with self.wire() as wire:
            answer = wire.ask(CreateTopicsRequest([CreatableTopic(name, *counted, places, settings)]), CreateTopicsResponse)
        assert answer.topics[0].error_code == 0, answer
        self.wait_known(name, partitions)
        self.wait_for_leader(name)
        return name

    def wait_known(self, name: str, partitions: int = 1) -> None:
        """Until every broker has heard of it: a client may ask any of them next."""
        wait_until(
            lambda: all(len(self.topic(name, node).partitions) == partitions for node in self.nodes),
            f"all brokers to know {partitions} partitions of {name}",
        )

    def unused_name(self) -> str:
        return f"of-a-test-{next(_numbers)}"

    def topic(self, name: str, node: int = 1) -> MetadataResponseTopic:
        with self.wire(node) as wire:
            request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            return wire.ask(request, MetadataResponse).topics[0]

    def leader(self, name: str, partition: int = 0) -> int:
        return self.topic(name, self._anyone()).partitions[partition].leader_id

    def wire_to_leader(self, name: str, partition: int = 0) -> WireClient:
        return self.wire(self.leader(name, partition))

    def wait_for_leader(self, name: str, partition: int = 0) -> int:
        """Until the leader itself says it leads: another broker may know of it first."""

        def leads() -> bool:
            leader = self.leader(name, partition)
            if leader < 0:
                return False
            with self.wire(leader) as wire:
                return wire.fetch(name, 0, partition=partition, max_bytes=1).error_code == 0

        wait_until(leads, f"{name} to have a leader")
        return self.leader(name, partition)

    def wait_in_sync(self, name: str, partition: int = 0) -> None:
        def complete() -> bool:
            place = self.topic(name, self._anyone()).partitions[partition]
            return place.leader_id >= 0 and set(place.isr_nodes) == set(place.replica_nodes)

        wait_until(complete, f"all replicas of {name} to be in sync")

    def stop(self, node: int) -> None:
        assert self.cluster.stop_node(node, timeout=PATIENCE), f"node {node} did not stop cleanly"

    def start(self, node: int) -> None:
        self.cluster.start_node(node)
        self.cluster.wait_ready()

    def metric(self, name: str, node: int = 1) -> float:
        address = self.cluster.plan.nodes[node - 1].http_address
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE) as page:
            lines = page.read().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"highwater_{name} "))

    def folder(self, name: str, partition: int = 0, node: int | None = None) -> Path:
        return self.cluster.data_path(node or self.leader(name, partition)) / f"{name}-{partition}"

    def _anyone(self) -> int:
        return next(node for node in self.nodes if self.cluster.alive(node))


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
