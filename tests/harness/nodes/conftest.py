"""Groups of nodes for the tests: of each kind that works here, the others skipped with what doctor would say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.nodes import KINDS, Nodes, create
from tests.harness.nodes.kinds import inventory_of_docker_nodes, missing, new_run_id

COUNT = 3


def kind_of_node(kind: str) -> object:
    return pytest.param(kind, marks=[pytest.mark.docker] if kind in ("docker", "ssh") else [])


@pytest.fixture(scope="module", params=map(kind_of_node, KINDS))
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes, whose tests leave no cut and no process of theirs that matters to the next."""
    kind: str = request.param
    reason = missing(kind)
    if reason:
        pytest.skip(reason)
    folder, run_id = tmp_path_factory.mktemp(kind), new_run_id("suite")
    if kind == "ssh":
        with inventory_of_docker_nodes(COUNT, folder) as inventory, create("ssh", COUNT, run_id, folder, inventory=inventory) as made:
            yield made
    else:
        with create(kind, COUNT, run_id, folder) as made:
            yield made


@pytest.fixture
def namespaces_folder(tmp_path: Path) -> Path:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    return tmp_path
