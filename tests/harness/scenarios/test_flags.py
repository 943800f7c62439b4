"""Every field of a scenario has a flag, documented, that overrides it."""

import argparse

import pytest

from harness.errors import UserMistake
from harness.scenarios import add_flags, given_flags, resolve
from harness.scenarios.fields import scenario_fields
from harness.scenarios.flags import parse_faults
from harness.scenarios.model import Fault, Scenario

# For every field a text on the command line, what else it takes for it to be allowed, and the value it must become.
SAMPLES = {
    "name": ("--name mine", "mine"),
    "description": ("--description words", "words"),
    "system": ("--system kafka", "kafka"),
    "nodes": ("--nodes 5", 5),
    "nodes_kind": ("--nodes-kind docker", "docker"),
    "inventory": ("--inventory hosts.toml --nodes-kind ssh", "hosts.toml"),
    "bootstrap": ("--bootstrap a:1,b:2 --system external", ("a:1", "b:2")),
    "kafka_home": ("--kafka-home /opt/kafka --system kafka", "/opt/kafka"),
    "plugin": ("--plugin broken.py", "broken.py"),
    "restart_dead": ("--no-restart-dead", False),
    "seed": ("--seed 7", 7),
    "topics.count": ("--topics 9", 9),
    "topics.partitions": ("--partitions 6", 6),
    "topics.replicas": ("--replicas 2", 2),
    "topics.min_insync": ("--min-insync 1", 1),
    "topics.unclean": ("--unclean", True),
    "clients.acks": ("--acks 1 --no-idempotence", "1"),
    "clients.idempotence": ("--no-idempotence", False),
    "clients.in_flight": ("--in-flight 1", 1),
    "clients.linger_ms": ("--linger-ms 0.5", 0.5),
    "clients.batch_bytes": ("--batch-bytes 1000", 1000),
    "clients.compression": ("--compression lz4", "lz4"),
    "clients.retries": ("--retries 5", 5),
    "clients.request_timeout": ("--request-timeout 2", 2.0),
    "clients.delivery_timeout": ("--delivery-timeout 20", 20.0),
    "clients.isolation": ("--isolation read_committed", "read_committed"),
    "workload.kind": ("--workload ordered", "ordered"),
    "workload.preset": ("--preset fire-and-forget", "fire-and-forget"),
    "workload.rate": ("--rate 0", 0.0),
    "workload.workers": ("--workers 1", 1),
    "workload.senders": ("--senders 1", 1),
    "workload.pollers": ("--pollers 1", 1),
    "workload.record_bytes": ("--record-bytes 1024", 1024),
    "workload.live_partitions": ("--live-partitions 3", 3),
    "workload.writes_per_partition": ("--writes-per-partition 100", 100),
    "workload.keys": ("--keys 10", 10),
    "schedule.mean_interval": ("--mean-interval 3", 3.0),
    "schedule.first_after": ("--first-after 1", 1.0),
    "schedule.calm_share": ("--calm-share 0", 0.0),
    "schedule.overlap": ("--no-overlap", False),
    "durations.warm_up": ("--warm-up 1", 1.0),
    "durations.time_limit": ("--time-limit 10", 10.0),
    "durations.after_heal": ("--after-heal 1.5", 1.5),
    "durations.recovery": ("--recovery 1", 1.0),
    "expect.progress": ("--no-progress", False),
    "expect.coverage": ("--coverage leader-changed,isr-shrunk", ("leader-changed", "isr-shrunk")),
}
WITH_FORMS_OF_THEIR_OWN = {"faults", "broker"}


def resolved(line: str, name: str = "calm") -> Scenario:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return resolve(name, given_flags(parser.parse_args(line.split())))


def test_there_is_a_sample_for_every_field():
    assert {".".join(field.path) for field in scenario_fields()} == set(SAMPLES) | WITH_FORMS_OF_THEIR_OWN


@pytest.mark.parametrize("path, sample", SAMPLES.items(), ids=SAMPLES)
def test_the_flag_of_a_field_overrides_it(path, sample):
    line, wanted = sample
    value: object = resolved(line)
    for part in path.split("."):
        value = getattr(value, part)
    assert value == wanted and type(value) is type(wanted)


def test_no_two_fields_have_the_same_flag():
    flags = [field.flag for field in scenario_fields()]
    assert len(set(flags)) == len(flags)


def test_every_field_is_documented_in_help():
    parser = argparse.ArgumentParser()
    add_flags(parser)
    text = parser.format_help()
    for field in scenario_fields():
        assert field.about and field.allowed
        assert field.flag in text


def test_without_flags_nothing_is_overridden():
    assert resolved("") == resolve("calm")


def test_broker_settings_are_set_one_by_one():
    broker = resolved("--set log.flush.interval.messages=1 --set auto.create.topics.enable=false --set log.level=debug").broker
    assert broker["log.flush.interval.messages"] == 1
    assert broker["auto.create.topics.enable"] is False
    assert broker["log.level"] == "debug"


def test_faults_are_named_with_commas_or_in_several_flags():
    assert [fault.kind for fault in resolved("--fault partition,kill --fault pause").faults] == ["partition", "kill", "pause"]


def test_the_short_form_of_a_fault_can_say_every_field_of_it():
    (fault,) = parse_faults("clock:strobe@n1+n2/name=jump/at=3/lasts=8/every=20/rests=4/offset=-2.5/period=3")
    assert set(fault) == set(Fault.model_fields)
    assert fault == {
        "kind": "clock", "variant": "strobe", "target": "n1+n2", "name": "jump", "at": 3.0, "lasts": 8.0, "every": 20.0, "rests": 4.0,
        "parameters": {"offset": -2.5, "period": 3},
    }  # fmt: skip


def test_a_fault_may_strike_whom_another_struck():
    assert parse_faults("kill@as:cut") == [{"kind": "kill", "target": "as:cut"}]


def test_a_run_can_be_freed_of_faults_and_requirements():
    assert resolved("--fault none", "default").faults == ()
    assert resolved("--coverage none", "storm").expect.coverage == ()


@pytest.mark.parametrize("line", ["--set log.level", "--set =1", "--fault kill/lasts", "--fault kill/=2"])
def test_what_is_not_name_and_value_is_refused(line):
    with pytest.raises(UserMistake, match="is not of the form name=value"):
        resolved(line)


@pytest.mark.parametrize("line, flag", [("--nodes ten", "--nodes"), ("--rate fast", "--rate"), ("--fault kill/lasts=long", "--fault")])
def test_a_text_that_is_no_number_is_told_like_any_mistake(line, flag):
    with pytest.raises(UserMistake, match=rf"^{flag}: .*is not allowed; allowed: a .*number"):
        resolved(line)
