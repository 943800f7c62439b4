"""From a name or a file, and flags, to a scenario: what beats what."""

import pytest
from pydantic import ValidationError

from harness.errors import UserMistake
from harness.scenarios import resolve, shipped
from harness.scenarios.broker_settings import SHORT_TIMERS


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write


def test_an_empty_file_is_a_scenario_of_defaults_named_after_it(written):
    scenario = resolve(written(""))
    assert scenario.name == "mine"
    assert (scenario.system, scenario.nodes, scenario.clients.acks, scenario.topics.min_insync) == ("highwater", 3, "all", 2)
    assert (scenario.durations.time_limit, scenario.faults, scenario.seed) == (60.0, (), None)


def test_timers_are_short_by_default():
    assert resolve("calm").broker == SHORT_TIMERS
    assert SHORT_TIMERS["broker.session.timeout.ms"] == 3000
    assert SHORT_TIMERS["log.segment.bytes"] == 1 << 20


def test_a_file_says_what_it_says(written):
    scenario = resolve(written('nodes = 5\nseed = 7\n[clients]\nlinger_ms = 0\n[[faults]]\nkind = "kill"\ntarget = "all"\n'))
    assert (scenario.nodes, scenario.seed, scenario.clients.linger_ms, scenario.faults[0].target) == (5, 7, 0.0, "all")


def test_flags_beat_the_file(written):
    scenario = resolve(written("nodes = 5\nseed = 7\n[topics]\nreplicas = 2\n"), {"--nodes": 4, "--min-insync": 1})
    assert (scenario.nodes, scenario.seed, scenario.topics.replicas, scenario.topics.min_insync) == (4, 7, 2, 1)


def test_broker_settings_are_added_to_the_short_timers_and_flags_to_both(written):
    path = written('[broker]\nlog.flush.interval.messages = 1\n"replica.lag.time.max.ms" = 4000\n')
    scenario = resolve(path, {"--set": {"replica.lag.time.max.ms": 5000}})
    assert scenario.broker == {**SHORT_TIMERS, "log.flush.interval.messages": 1, "replica.lag.time.max.ms": 5000}


def test_faults_of_flags_replace_those_of_the_file():
    assert [fault.kind for fault in resolve("default", {"--fault": [{"kind": "stop"}]}).faults] == ["stop"]


def test_a_preset_gives_way_to_what_the_file_says_of_clients(written):
    clients = resolve(written('[workload]\npreset = "fire-and-forget"\n[clients]\nretries = 3\n')).clients
    assert (clients.acks, clients.idempotence, clients.retries) == ("0", False, 3)


def test_a_preset_on_the_command_line_beats_the_file_and_a_flag_beats_the_preset(written):
    path = written("[clients]\nretries = 3\nlinger_ms = 1.0\n")
    clients = resolve(path, {"--preset": "fire-and-forget", "--acks": "1"}).clients
    assert (clients.acks, clients.idempotence, clients.retries, clients.linger_ms) == ("1", False, 0, 1.0)


def test_acks_may_be_a_number_or_a_word(written):
    for text in ("1", '"1"'):
        assert resolve(written(f"[clients]\nacks = {text}\nidempotence = false\n")).clients.acks == "1"


def test_a_scenario_cannot_be_changed():
    with pytest.raises(ValidationError):
        resolve("default").nodes = 4


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UserMistake, match=r"no scenario 'strom'; did you mean `storm`\?"):
        resolve("strom")


def test_a_missing_file_is_named():
    with pytest.raises(UserMistake, match=r"there is no file ./nothing\.toml"):
        resolve("./nothing.toml")


def test_a_file_that_is_not_toml_is_named_with_the_line(written):
    with pytest.raises(UserMistake, match=r"mine\.toml is not TOML: .*line 2"):
        resolve(written("nodes = 3\nnodes 5\n"))


def test_the_default_is_the_first_of_those_shipped():
    assert next(iter(shipped())) == "default"
