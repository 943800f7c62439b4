"""Groups of nodes for the tests: of each kind that works here, the others skipped with what doctor would say."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.nodes import KINDS, Nodes, create
from tests.harness.nodes.kinds import inventory_of_docker_nodes, missing

COUNT = 3


@pytest.fixture(scope="module", params=KINDS)
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes, whose tests leave no cut and no process of theirs that matters to the next."""
    kind: str = request.param
    reason = missing(kind)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(kind)
    if kind == "ssh":
        with inventory_of_docker_nodes(COUNT, folder) as inventory, create("ssh", COUNT, "suite", folder, inventory=inventory) as made:
            yield made
    else:
        with create(kind, COUNT, "suite", folder) as made:
            yield made


@pytest.fixture
def namespaces_folder(tmp_path: Path) -> Path:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    return tmp_path
