"""A Kafka node's settings and command line, as text."""

from harness.scenarios.broker_settings import SHORT_TIMERS
from harness.systems.kafka_properties import SERVER, as_properties, java_command, node_settings

VOTERS = {1: "198.18.0.1", 2: "198.18.0.2", 3: "198.18.0.3"}


def test_a_node_of_the_quorum_is_broker_and_controller_on_ports_of_their_own():
    found = node_settings(2, "198.18.0.2", VOTERS, 4, "/d", {})
    assert found["process.roles"] == "broker,controller"
    assert found["listeners"] == "PLAINTEXT://198.18.0.2:9092,CONTROLLER://198.18.0.2:9093"
    assert found["advertised.listeners"] == "PLAINTEXT://198.18.0.2:9092"
    assert found["controller.quorum.voters"] == "1@198.18.0.1:9093,2@198.18.0.2:9093,3@198.18.0.3:9093"


def test_a_node_outside_it_is_a_broker_that_knows_the_controllers():
    found = node_settings(4, "198.18.0.4", VOTERS, 4, "/d", {})
    assert found["process.roles"] == "broker"
    assert found["listeners"] == "PLAINTEXT://198.18.0.4:9092"
    assert found["controller.listener.names"] == "CONTROLLER"
    assert "1@198.18.0.1:9093" in str(found["controller.quorum.voters"])


def test_the_short_timers_of_runs_are_taken_and_the_quorum_follows():
    found = node_settings(1, "198.18.0.1", VOTERS, 3, "/d", SHORT_TIMERS)
    assert SHORT_TIMERS.items() <= found.items()
    assert found["controller.quorum.fetch.timeout.ms"] == 1500
    named = node_settings(1, "198.18.0.1", VOTERS, 3, "/d", {**SHORT_TIMERS, "controller.quorum.fetch.timeout.ms": 4000})
    assert named["controller.quorum.fetch.timeout.ms"] == 4000


def test_without_settings_kafka_keeps_its_own_timers():
    assert not [name for name in node_settings(1, "198.18.0.1", VOTERS, 3, "/d", {}) if name.endswith(".ms")]


def test_what_the_deployment_decides_cannot_be_set():
    found = node_settings(1, "198.18.0.1", VOTERS, 3, "/d", {"node.id": 9, "log.dirs": "/elsewhere", "num.io.threads": 2})
    assert (found["node.id"], found["log.dirs"], found["num.io.threads"]) == (1, "/d", 2)


def test_internal_topics_have_as_many_replicas_as_there_are_brokers_for():
    for brokers, replicas, in_sync in ((1, 1, 1), (2, 2, 2), (5, 3, 2)):
        found = node_settings(1, "198.18.0.1", {1: "198.18.0.1"}, brokers, "/d", {})
        assert found["offsets.topic.replication.factor"] == found["transaction.state.log.replication.factor"] == replicas
        assert found["transaction.state.log.min.isr"] == in_sync


def test_values_are_written_as_java_reads_them():
    written = as_properties({"a.flag": True, "b": False, "n": -1, "f": 0.5, "path": "C:\\x"})
    assert written == "a.flag=true\nb=false\nn=-1\nf=0.5\npath=C:\\\\x\n"


def test_all_a_jvm_writes_lies_in_the_nodes_folder():
    command = java_command("/j/bin/java", SERVER, "/jars", "/n1", "kafka.Kafka", "/n1/server.properties")
    assert command[0] == "/j/bin/java"
    assert command[-4:] == ["-cp", "/jars/*", "kafka.Kafka", "/n1/server.properties"]
    assert "-Djava.io.tmpdir=/n1/tmp" in command
    assert "-XX:-UsePerfData" in command
