"""What follows from a scenario: faults, promises, and a record from which both come back."""

import json
from dataclasses import asdict

import pytest

from harness.errors import UserMistake
from harness.history.plan import Plan, parse_promises, read_plan, write_plan
from harness.scenarios import resolve, shipped
from harness.scenarios.plan import planned_faults, promises_of, recalled, recorded, with_seed


def test_the_same_scenario_and_seed_give_the_same_plan():
    assert planned_faults(resolve("default", {"--seed": 7})) == planned_faults(with_seed(resolve("default"), 7))


def test_a_seed_of_its_own_is_kept():
    assert with_seed(resolve("default", {"--seed": 3}), 9).seed == 3


def test_the_promises_are_those_of_the_settings():
    promises = promises_of(resolve("calm", {"--set": {"log.flush.interval.messages": 1}}))
    assert asdict(promises) == {
        "acks": "all", "replicas": 3, "min_insync": 2, "unclean": False, "flush": True, "idempotence": True, "in_flight": 5,
        "isolation": "read_uncommitted", "assignment": "assign", "progress": True,
    }  # fmt: skip


def test_without_a_flush_of_every_message_none_is_promised():
    assert promises_of(resolve("default")).flush is False


@pytest.mark.parametrize("name", shipped())
def test_a_plan_comes_back_from_plan_json(name, tmp_path):
    scenario = with_seed(resolve(name), 5)
    faults = planned_faults(scenario)
    write_plan(tmp_path, Plan(5, promises_of(scenario), scenario=recorded(scenario, faults)))
    plan = read_plan(tmp_path)
    assert recalled(plan.scenario, "plan.json") == (scenario, faults)
    assert plan.promises == parse_promises(asdict(promises_of(scenario)))


def test_the_record_spells_out_what_the_file_left_to_defaults():
    settings = recorded(resolve("kill", {"--seed": 1}), [])["settings"]
    assert settings["clients"]["delivery_timeout"] == 10.0
    assert settings["broker"]["broker.session.timeout.ms"] == 3000


@pytest.mark.parametrize("record", [{}, {"settings": {}, "faults": [{}]}, {"settings": 3, "faults": []}])
def test_a_record_of_something_else_cannot_be_run_again(record):
    with pytest.raises(UserMistake, match="cannot be run again"):
        recalled(json.loads(json.dumps(record)), "plan.json")
