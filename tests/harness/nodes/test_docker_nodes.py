"""Containers in particular: nothing is left of them, and what a killed harness left is found and removed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import docker
from harness.errors import EnvironmentFault
from harness.nodes import docker_nodes
from harness.nodes.docker_nodes import RUN_LABEL, DockerNodes
from tests.harness.nodes.kinds import missing, new_run_id

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[3]

OWNER = """
import sys
from pathlib import Path
from typing import Any
from harness.nodes.docker_nodes import DockerNodes
nodes = DockerNodes.create(1, sys.argv[2], Path(sys.argv[1]))
print("made", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def engine():
    reason = missing("docker")
    if reason:
        pytest.skip(reason)
    client = docker.from_env()
    yield client
    client.close()


def of_run(engine: docker.DockerClient, run_id: str) -> list[str]:
    ours: dict[str, Any] = {"label": f"{RUN_LABEL}={run_id}"}
    found = [*engine.containers.list(all=True, filters=ours), *engine.networks.list(filters=ours)]
    return [str(thing.attrs["Name"]) for thing in found]


def test_names_and_labels_carry_the_run_and_closing_leaves_nothing(engine, tmp_path):
    run_id = new_run_id("labels")
    with DockerNodes.create(1, run_id, tmp_path) as nodes:
        assert sorted(of_run(engine, run_id)) == [f"/highwater-{run_id}-client", f"/highwater-{run_id}-n1", f"highwater-{run_id}"]
        assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert of_run(engine, run_id) == []
    nodes.close()


def test_two_runs_have_networks_of_their_own(tmp_path):
    first, second = new_run_id("first"), new_run_id("second")
    with DockerNodes.create(1, first, tmp_path / "one") as one, DockerNodes.create(1, second, tmp_path / "two") as two:
        assert one.client.address.rsplit(".", 1)[0] != two.client.address.rsplit(".", 1)[0]
        assert one.client.address.startswith("198.18.")


def test_what_a_killed_harness_left_is_removed_and_what_has_an_owner_stays(engine, tmp_path):
    killed, living = new_run_id("killed"), new_run_id("living")
    owner = subprocess.Popen([sys.executable, "-c", OWNER, tmp_path / "killed", killed], cwd=ROOT, stdin=-1, stdout=-1, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "made\n"
    owner.kill()
    owner.communicate()
    with DockerNodes.create(1, living, tmp_path / "living"):
        assert len(of_run(engine, killed)) == 3
        assert killed in docker_nodes.clean()
        assert of_run(engine, killed) == []
        assert len(of_run(engine, living)) == 3


def test_a_node_with_what_a_broker_needs_has_it(tmp_path):
    with DockerNodes.create(1, new_run_id("needs"), tmp_path) as nodes:
        done = nodes.nodes[0].run(["python3", "-c", "import crc32c, msgspec, uvloop"])
        assert done.code == 0, done.err


def test_a_failure_on_the_way_leaves_nothing(engine, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.nodes.docker_nodes.ensure_image", lambda engine: "highwater-no-such-image")
    run_id = new_run_id("failing")
    with pytest.raises(EnvironmentFault, match="refuses"):
        DockerNodes.create(1, run_id, tmp_path)
    assert of_run(engine, run_id) == []
