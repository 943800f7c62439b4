"""One real run of each kind of nodes that works here serves many tests.

It is waited for in parts, each within the limit of one test: `begun` starts it, `finished` has seen its end.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from harness.nodes import KINDS
from tests.harness.nodes.kinds import inventory_of_docker_nodes, missing
from tests.harness.run.running import SMALL, RunProcess

FOUR_KINDS = "clock:bump@n3/at=1/lasts=12/offset=30,partition:one@n1/at=1/lasts=6,pause@n2/at=8/lasts=4,kill@n1/at=8/lasts=5"


@pytest.fixture
def namespaces() -> None:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="module", params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.docker) for kind in KINDS[1:])])
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunProcess]:
    """All four kinds of faults under load."""
    kind: str = request.param
    reason = missing(kind)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(kind)
    flags = [*SMALL, "--fault", FOUR_KINDS, "--time-limit", "14", "--nodes-kind", kind]
    with ExitStack() as stack:
        if kind != "namespaces":
            flags.append("--no-check")  # a history is judged alike wherever it was recorded
        if kind == "ssh":
            flags += ["--inventory", str(stack.enter_context(inventory_of_docker_nodes(3, folder)))]
        yield stack.enter_context(RunProcess(folder / "results", *flags))


@pytest.fixture(scope="module")
def finished(begun: RunProcess) -> RunProcess:
    begun.end()
    return begun
