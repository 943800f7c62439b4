"""What fields allow together."""

import pytest

from harness.scenarios import Scenario, ScenarioMistake
from harness.scenarios.loading import build

KILL = {"kind": "kill"}


@pytest.mark.parametrize(
    "content, field, text",
    [
        ({"system": "external"}, "bootstrap", "is missing"),
        ({"bootstrap": ["h:9092"]}, "bootstrap", "system = external only"),
        ({"system": "external", "bootstrap": ["h"]}, "bootstrap", "'h' is not of the form HOST:PORT"),
        ({"system": "external", "bootstrap": ["h:1"], "faults": [KILL]}, "faults", "none can be given"),
        ({"kafka_home": "/opt/kafka"}, "kafka_home", "system = kafka only"),
        ({"plugin": "broken.py", "system": "kafka"}, "plugin", "system = highwater only"),
        ({"nodes_kind": "ssh"}, "inventory", "is missing"),
        ({"inventory": "hosts.toml"}, "inventory", "nodes_kind = ssh only"),
        ({"nodes": 2, "topics": {"replicas": 3}}, "topics.replicas", "allowed: 1 to 2"),
        ({"topics": {"replicas": 2, "min_insync": 3}}, "topics.min_insync", "allowed: 1 to 2"),
        ({"topics": {"count": 2, "partitions": 3}}, "workload.live_partitions", "allowed: 1 to 6"),
        ({"broker": {"min.insync.replicas": 1}}, 'broker."min.insync.replicas"', "is decided by topics.min_insync"),
        ({"broker": {"node.id": 1}}, 'broker."node.id"', "is decided by the deployment"),
        ({"broker": {"Log Level": "x"}}, 'broker."Log Level"', "is no name of a Kafka setting"),
        ({"broker": {"broker.sesion.timeout.ms": 1}}, 'broker."broker.sesion.timeout.ms"', "did you mean `broker.session.timeout.ms`?"),
        ({"broker": {"broker.heartbeat.interval.ms": 2000}}, 'broker."broker.heartbeat.interval.ms"', "allowed: up to 1500"),
        ({"clients": {"acks": 1}}, "clients.acks", "allowed: all, or idempotence = false"),
        ({"clients": {"in_flight": 6}}, "clients.in_flight", "allowed: 1 to 5"),
        ({"clients": {"retries": 0}}, "clients.retries", "allowed: 1 or more"),
        ({"clients": {"delivery_timeout": 2.0}}, "clients.delivery_timeout", "allowed: 3.005 s or more"),
        ({"faults": [{"kind": "partition", "variant": "majorities-ring"}]}, "fault 1, variant", "needs 4 nodes"),
        (
            {"topics": {"replicas": 1, "min_insync": 1}, "faults": [{"kind": "partition", "variant": "leader-from-isr"}]},
            "fault 1, variant",
            "2 replicas or more",
        ),
        ({"faults": [KILL | {"name": "a"}, KILL | {"name": "a"}]}, "fault 2, name", "an earlier fault too"),
        ({"faults": [KILL | {"target": "as:cut"}]}, "fault 1, target", "there is no fault called 'cut'"),
        ({"faults": [KILL | {"target": "n4"}]}, "fault 1, target", "nodes are n1, n2, n3"),
        ({"faults": [KILL], "durations": {"time_limit": 6.0}}, "durations.time_limit", "allowed: 7 s or more"),
        ({"faults": [KILL | {"at": 50.0, "lasts": 20.0}]}, "durations.time_limit", "allowed: 70 s or more"),
    ],
)
def test_what_does_not_go_together_is_told_with_what_does(content, field, text):
    with pytest.raises(ScenarioMistake) as refused:
        build(content, {}, "mine.toml", "mine")
    (line,) = refused.value.lines
    assert line.startswith(f"mine.toml: {field}: ")
    assert text in line


@pytest.mark.parametrize(
    "content",
    [
        {"system": "external", "bootstrap": ["h1:9092", "h2:9092"], "nodes": 1},
        {"system": "kafka", "kafka_home": "/opt/kafka", "broker": {"num.io.threads": 4}},
        {"nodes_kind": "ssh", "inventory": "hosts.toml", "faults": [KILL | {"target": "berlin-1"}]},
        {"nodes": 1, "topics": {"replicas": 1, "min_insync": 1}, "faults": [KILL]},
        {"faults": [KILL | {"name": "first"}, {"kind": "pause", "target": "as:first"}]},
    ],
)
def test_what_goes_together_is_a_scenario(content):
    assert isinstance(build(content, {}, "mine.toml", "mine"), Scenario)
