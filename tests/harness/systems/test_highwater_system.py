"""Our broker on namespace nodes: its life, who leads, what it wrote."""

from collections.abc import Iterator

import pytest

from harness.errors import EnvironmentFault
from harness.nodes import Nodes
from harness.systems.external_system import ExternalSystem
from harness.systems.highwater_system import HighwaterSystem
from tests.harness.nodes.kinds import missing
from tests.nemesis.cluster import cluster, fill

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[tuple[Nodes, HighwaterSystem]]:
    reason = missing("namespaces")
    if reason:
        pytest.skip(reason)
    with cluster(tmp_path_factory.mktemp("system")) as made:
        fill(*made, "filled", 100)
        yield made


def test_every_partition_has_its_leader_replicas_and_isr_by_name(running):
    found = running[1].leaders()
    assert set(found) == {("filled", 0), ("filled", 1)}
    for leadership in found.values():
        assert leadership.leader == leadership.replicas[0]
        assert sorted(leadership.replicas) == sorted(leadership.isr) == ["n1", "n2", "n3"]


def test_all_brokers_name_one_controller(running):
    assert running[1].controller() in ("n1", "n2", "n3")


def test_the_process_that_was_started_is_the_one_that_is_found(running):
    for name in ("n1", "n2", "n3"):
        assert running[1].find_process(name).process == running[1].process(name)


def test_the_dump_holds_every_message_on_every_node(running):
    found = {(replica.node, replica.part): replica.records["value"] for replica in running[1].dump(int)}
    assert found == {(node, part): list(range(part, 100, 2)) for node in ("n1", "n2", "n3") for part in (0, 1)}


def test_logs_are_collected_a_folder_a_node(running, tmp_path):
    running[1].collect_logs(tmp_path)
    assert all(b"listening" in (tmp_path / name / "broker.log").read_bytes() for name in ("n1", "n2", "n3"))


def test_a_clock_that_nobody_prepared_is_not_put_off(running):
    with pytest.raises(EnvironmentFault, match="clock"):
        running[1].set_clock("n1", 5.0)


def test_a_broker_that_dies_on_its_own_is_noticed_and_one_that_was_killed_is_not(running):
    nodes, system = running
    system.kill_node("n3")
    assert system.died() == []
    process = system.process("n2")
    nodes.nodes[1].run(["kill", "-9", str(process.pid)]).require("kill")
    assert nodes.nodes[1].wait(process, 60) == -9
    assert system.died() == ["n2"]
    system.start_node("n2")
    system.start_node("n3")
    system.wait_up(["n2", "n3"])
    assert system.died() == []


def test_a_wiped_node_has_no_data(running):
    nodes, system = running
    assert system.stop_node("n3", 60.0)
    system.wipe_node("n3")
    assert nodes.nodes[2].run(["test", "-e", system.data_path("n3")]).code == 1


def test_an_external_system_is_its_servers():
    assert ExternalSystem.at(["a:1", "b:2"]).bootstrap == "a:1,b:2"
