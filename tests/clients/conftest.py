"""Real brokers for real clients: one cluster of one node, one of three, never both at once.

Pytest runs all tests of a parameter of `running` before the next, so each cluster starts once. Tests share it and use topics of
their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pytest

from harness.systems.cluster_plan import Setting
from harness.systems.local_cluster import LocalCluster
from tests.clients.aiokafka_client import AiokafkaClient
from tests.clients.confluent_client import ConfluentClient
from tests.clients.interface import Client
from tests.clients.kafka_python_client import KafkaPythonClient
from tests.clients.running import Running

LIBRARIES = (ConfluentClient, KafkaPythonClient, AiokafkaClient)


@dataclass(frozen=True, slots=True)
class Layout:
    nodes: int
    settings: tuple[tuple[str, Setting], ...] = ()


ONE, THREE = Layout(1), Layout(3)
ONE_NODE = pytest.mark.parametrize("running", [ONE], ids=["1-node"], indirect=True)
THREE_NODES = pytest.mark.parametrize("running", [THREE], ids=["3-nodes"], indirect=True)


@pytest.fixture(scope="session", params=[ONE, THREE], ids=["1-node", "3-nodes"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    layout = cast(Layout, request.param)
    directory = tmp_path_factory.mktemp("cluster") / "data"
    with LocalCluster.create(directory, nodes=layout.nodes, settings=dict(layout.settings)) as cluster:
        yield Running(cluster)
        ended = [node for node in cluster.ids if not cluster.alive(node)]
        assert not ended, f"brokers {ended} ended while they were tested"


@pytest.fixture(scope="session")
def connected(running: Running) -> Iterator[dict[type[Client], Client]]:
    clients: dict[type[Client], Client] = {}
    yield clients
    for client in clients.values():
        client.close()


@pytest.fixture(params=LIBRARIES, ids=[library.name for library in LIBRARIES])
def client(request: pytest.FixtureRequest, running: Running, connected: dict[type[Client], Client]) -> Client:
    library = cast(type[Client], request.param)
    if library not in connected:
        connected[library] = library(running.bootstrap)
    return connected[library]
