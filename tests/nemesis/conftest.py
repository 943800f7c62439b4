"""One real cluster for all faults: three brokers on namespace nodes, with clocks that can be put off."""

from collections.abc import Iterator

import pytest

from harness.nodes import Nodes
from harness.systems.highwater_system import HighwaterSystem
from nemesis.nemesis import Nemesis
from tests.harness.nodes.kinds import missing
from tests.nemesis.cluster import cluster, fill


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nodes, HighwaterSystem]]:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    with cluster(tmp_path_factory.mktemp("nemesis"), clock_faults=True) as made:
        fill(*made, "led", 2)
        yield made


@pytest.fixture
def nodes(running) -> Nodes:
    return running[0]


@pytest.fixture
def system(running) -> HighwaterSystem:
    """Every test finds all brokers up, and leaves them so."""
    running[1].wait_up(["n1", "n2", "n3"])
    return running[1]


@pytest.fixture
def nemesis(nodes, system) -> Nemesis:
    return Nemesis(nodes, system, seed=1)
