"""Every mistake is one line with file, field and what is allowed, and all are told at once."""

from typing import Any

import pytest

from harness.scenarios import ScenarioMistake
from harness.scenarios.fields import scenario_fields
from harness.scenarios.loading import build

# A wrong value for every field of a scenario, as a file would have it.
WRONG = {
    "name": "a b",
    "description": 3,
    "system": "kafak",
    "nodes": 0,
    "nodes_kind": "podman",
    "inventory": 7,
    "bootstrap": 9092,
    "kafka_home": False,
    "plugin": 3,
    "restart_dead": "yes",
    "seed": -1,
    "topics": {"count": 0, "partitions": "many", "replicas": 10, "min_insync": 0, "unclean": 1},
    "broker": 3,
    "clients": {
        "acks": "most",
        "idempotence": "on",
        "in_flight": 0,
        "linger_ms": -1,
        "batch_bytes": 1.5,
        "compression": "rar",
        "retries": -1,
        "request_timeout": 0,
        "delivery_timeout": "long",
        "isolation": "none",
    },
    "workload": {
        "kind": "lag",
        "preset": "fast",
        "rate": -1,
        "workers": 0,
        "senders": True,
        "pollers": -1,
        "record_bytes": 1,
        "live_partitions": 0,
        "writes_per_partition": 0,
        "keys": 0,
    },
    "faults": "kill",
    "schedule": {"mean_interval": 0, "first_after": -1, "calm_share": 1.0, "overlap": "sometimes"},
    "durations": {"warm_up": -1, "time_limit": float("inf"), "after_heal": -1, "recovery": "a while"},
    "expect": {"progress": "please", "coverage": ["leader-change"]},
}
WRONG_FAULT = {
    "kind": 3,
    "variant": 3,
    "target": [],
    "name": "a b",
    "at": -1,
    "lasts": 0,
    "every": "often",
    "rests": 0,
    "parameters": 3,
}


def told(content, flags=None):
    with pytest.raises(ScenarioMistake) as refused:
        build(content, flags or {}, "mine.toml", "mine")
    return list(refused.value.lines)


def fields_of(lines):
    return [line.split(": ")[1] for line in lines]


def test_a_mistake_in_every_field_is_one_clear_line_each():
    lines = told(WRONG)
    assert sorted(fields_of(lines)) == sorted(".".join(field.path) for field in scenario_fields())
    for line in lines:
        assert line.startswith("mine.toml: ")
        assert "allowed: " in line
        assert "pydantic" not in line and "http" not in line and "Input" not in line and "\n" not in line


@pytest.mark.parametrize("path", [field.path for field in scenario_fields()], ids=".".join)
def test_a_mistake_in_one_field_is_one_line_about_it(path):
    value: Any = WRONG
    for part in path:
        value = value[part]
    for part in reversed(path):
        value = {part: value}
    (line,) = told(value)
    assert line.startswith(f"mine.toml: {'.'.join(path)}: ")


def test_the_allowed_values_are_named():
    lines = dict(zip(fields_of(told(WRONG)), told(WRONG), strict=True))
    assert lines["system"] == "mine.toml: system: 'kafak' is not allowed; allowed: highwater, kafka, external"
    assert lines["nodes"] == "mine.toml: nodes: 0 is not allowed; allowed: a whole number from 1 to 9"
    assert lines["clients.acks"].endswith("'most' is not allowed; allowed: 0, 1, all")
    assert lines["topics.unclean"].endswith("1 is not allowed; allowed: true, false")
    assert lines["schedule.calm_share"].endswith("1.0 is not allowed; allowed: a number from 0 to 0.9")


def test_a_mistake_in_every_field_of_a_fault_is_one_line_each():
    lines = told({"faults": [{"kind": "kill"}, WRONG_FAULT]})
    assert fields_of(lines) == [f"fault 2, {name}" for name in WRONG_FAULT]
    assert all("allowed: " in line for line in lines)


def test_a_fault_without_a_kind_is_told_the_kinds():
    assert told({"faults": [{"target": "all"}]}) == [
        "mine.toml: fault 1, kind: is missing; allowed: partition, kill, stop, rolling-restart, pause, clock, torn-tail, deleted-index"
    ]


@pytest.mark.parametrize(
    "content, line",
    [
        ({"node": 3}, "mine.toml: node: there is no such field; did you mean `nodes`?"),
        ({"clients": {"akcs": 1}}, "mine.toml: clients.akcs: there is no such field; did you mean `acks`?"),
        ({"acks": 1}, "mine.toml: acks: there is no such field; did you mean `clients.acks`?"),
        ({"faults": [{"kind": "kill", "target_": "all"}]}, "mine.toml: fault 1, target_: there is no such field; did you mean `target`?"),
        ({"clients": 3}, "mine.toml: clients: 3 is no table; allowed: a table of acks, idempotence,"),
        ({"faults": ["kill"]}, "mine.toml: fault 1: 'kill' is no table; allowed: a table of kind, variant,"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(content, line):
    (found,) = told(content)
    assert found.startswith(line)


def test_rules_about_fields_together_are_told_beside_fields_wrong_by_themselves():
    lines = told({"nodes": "three", "clients": {"in_flight": 9}, "faults": [{"kind": "kil"}, {"kind": "kill", "at": "x"}]})
    assert fields_of(lines) == ["nodes", "fault 2, at", "clients.in_flight", "fault 1, kind"]


def test_a_rule_about_a_field_that_is_wrong_by_itself_is_not_asked():
    assert fields_of(told({"topics": {"replicas": "two", "min_insync": 9}})) == ["topics.replicas"]


def test_a_mistake_in_a_flag_names_the_flag():
    assert told({"clients": {"acks": "all"}}, {"--acks": "most"}) == ["--acks: 'most' is not allowed; allowed: 0, 1, all"]
    (line,) = told({}, {"--fault": [{"kind": "kil"}]})
    assert line.startswith("--fault: fault 1, kind: there is no fault 'kil'; did you mean `kill`?")
    (line,) = told({"broker": {"log.roll.ms": 1}}, {"--set": {"replica.lag.time.ms": 1}})
    assert line == "--set: replica.lag.time.ms is no setting of this broker; did you mean `replica.lag.time.max.ms`?"


def test_one_mistake_is_one_line_and_several_are_counted():
    with pytest.raises(ScenarioMistake) as one:
        build({"nodes": 0}, {}, "mine.toml", "mine")
    assert "\n" not in str(one.value)
    with pytest.raises(ScenarioMistake) as two:
        build({"nodes": 0, "seed": -1}, {}, "mine.toml", "mine")
    assert str(two.value).splitlines()[0] == "2 mistakes in the scenario:"
    assert one.value.exit_code == two.value.exit_code == 254
