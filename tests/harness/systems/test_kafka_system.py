"""Apache Kafka on real nodes: its life, who leads, its clocks, what it wrote. Three JVMs, so it takes minutes."""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.nodes import Nodes, create
from harness.scenarios.broker_settings import SHORT_TIMERS
from harness.systems.choosing import refusal
from harness.systems.kafka_system import KafkaSystem
from tests.harness.nodes.kinds import missing, new_run_id
from tests.nemesis.cluster import fill

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

NAMES = ["n1", "n2", "n3"]
CLOCK_SECONDS = 20.0
PATIENCE = 300.0

READ = """
import sys, time
from confluent_kafka import Consumer, TopicPartition
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "reader", "auto.offset.reset": "earliest"})
consumer.assign([TopicPartition(sys.argv[2], part, 0) for part in (0, 1)])
found, deadline = [], time.monotonic() + 50
while len(found) < int(sys.argv[3]) and time.monotonic() < deadline:
    found += [int(message.value()) for message in consumer.consume(1000, timeout=1) if not message.error()]
print(sorted(found))
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[tuple[Nodes, KafkaSystem]]:
    reason = missing("namespaces") or refusal("kafka", "namespaces")
    if reason:
        pytest.skip(reason)
    with create("namespaces", 3, new_run_id("kafka"), tmp_path_factory.mktemp("kafka")) as nodes:
        system = KafkaSystem(nodes)
        system.install()
        system.configure(SHORT_TIMERS, clock_faults=True)
        system.start()
        fill(nodes, system, "filled", 100)
        yield nodes, system


@pytest.fixture
def system(running) -> KafkaSystem:
    """All brokers are up, and every replica is in sync."""
    system: KafkaSystem = running[1]
    system.wait_up(NAMES)
    eventually(lambda: all(len(leadership.isr) == 3 for leadership in system.leaders().values()))
    return system


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


def clocks_are_off(system: KafkaSystem, offset: float) -> bool:
    return all((error := system.clock_error(name)) is not None and error.admits(offset) for name in NAMES)


def test_clients_read_what_they_wrote(running, system):
    read = running[0].client.run([sys.executable, "-c", READ, system.bootstrap, "filled", "100"]).require("reading")
    assert read.decode().strip() == str(list(range(100)))


def test_leaders_replicas_and_the_controller_are_named_by_node(system):
    found = system.leaders()
    assert set(found) == {("filled", 0), ("filled", 1)}, "Kafka's own topics, one of them for the reader's group, are not shown"
    for leadership in found.values():
        assert leadership.leader in leadership.replicas
        assert sorted(leadership.replicas) == NAMES
    assert system.controller() in NAMES


def test_who_leads_is_known_though_every_node_is_cut_from_the_others(running, system):
    before = system.leaders()
    try:
        for node in running[0].nodes:
            node.network.block([other.address for other in running[0].nodes if other is not node])
        assert set(system.leaders()) == set(before)
        assert system.controller() in NAMES
    finally:
        for node in running[0].nodes:
            node.network.unblock_all()


def test_a_killed_leader_and_a_killed_controller_are_replaced_and_come_back(running, system):
    killed = system.controller()
    assert killed is not None
    old = system.process(killed)
    system.kill_node(killed)
    assert system.died() == [] and not system.is_up(killed)
    eventually(lambda: system.controller() not in (None, killed))
    eventually(lambda: all(leadership.leader not in (None, killed) for leadership in system.leaders().values()))
    system.start_node(killed)
    system.wait_up([killed])
    found = system.find_process(killed)
    assert found is not None and found.process == system.process(killed) != old


def test_a_broker_that_dies_on_its_own_is_noticed(running, system):
    process = system.process("n2")
    assert process is not None
    running[0].nodes[1].run(["kill", "-9", str(process.pid)]).require("kill")
    assert running[0].nodes[1].wait(process, 60) == -9
    assert system.died() == ["n2"]
    system.start_node("n2")
    system.wait_up(["n2"])
    assert system.died() == []


def test_the_dump_holds_every_message_on_every_node_and_a_stopped_broker_wrote_its_high_watermark(system):
    assert system.stop_node("n1", 120.0)
    found = {(replica.node, replica.part): replica for replica in system.dump(int)}
    system.start_node("n1")
    assert {key: replica.records["value"] for key, replica in found.items()} == {
        (node, part): list(range(part, 100, 2)) for node in NAMES for part in (0, 1)
    }
    assert {found["n1", part].batches["high_watermark"][-1] for part in (0, 1)} == {50}
    for part in (0, 1):
        assert len({tuple(found[node, part].batches["crc"]) for node in NAMES}) == 1


def test_logs_are_collected_a_folder_a_node(system, tmp_path):
    system.collect_logs(tmp_path)
    assert all(b"Kafka Server started" in (tmp_path / name / "broker.log").read_bytes() for name in NAMES)


def test_a_wiped_node_is_formatted_again_and_comes_back_with_everything(system):
    system.kill_node("n3")
    system.wipe_node("n3")
    system.start_node("n3")
    system.wait_up(["n3"])
    eventually(lambda: all(len(leadership.isr) == 3 for leadership in system.leaders().values()))
    values = {replica.part: replica.records["value"] for replica in system.dump(int) if replica.node == "n3"}
    assert values == {part: list(range(part, 100, 2)) for part in (0, 1)}
    eventually(lambda: system.clock_error("n3") is not None)


def test_a_jvm_survives_its_clock_being_put_off_for_twenty_seconds(system):
    """Last of the tests of this cluster: Kafka's own timers go by the wall clock, and after a clock was put back some wait for minutes."""
    processes = {name: system.process(name) for name in NAMES}
    until, number = time.monotonic() + CLOCK_SECONDS, 0
    while time.monotonic() < until:
        number += 1
        offset = 60.0 * number * (-1) ** number
        for name in NAMES:
            system.set_clock(name, offset)
        eventually(partial(clocks_are_off, system, offset))
    for name in NAMES:
        system.set_clock(name, 0.0)
    eventually(partial(clocks_are_off, system, 0.0))
    assert system.died() == []
    assert {name: system.process(name) for name in NAMES} == processes


@pytest.mark.docker
def test_nodes_that_do_not_share_our_files_get_jars_and_java(tmp_path):
    reason = missing("docker") or refusal("kafka", "docker")
    if reason:
        pytest.skip(reason)
    with create("docker", 1, new_run_id("kafka"), tmp_path) as nodes:
        system = KafkaSystem(nodes)
        system.install()
        system.configure(SHORT_TIMERS)
        system.start()
        assert system.controller() == "n1"
        assert system.stop_node("n1", 120.0)
