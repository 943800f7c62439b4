"""The scenarios that come with the project: each loads, says what it is about, and can be planned."""

import tomllib

import pytest

from harness.scenarios import resolve, shipped
from harness.scenarios.plan import planned_faults, with_seed
from nemesis.catalogue import CATALOGUE

ONE_FAULT_EACH = {
    **{f"partition-{variant.name}": ("partition", variant.name) for variant in CATALOGUE["partition"].variants},
    **{f"clock-{name}": ("clock", name) for name in ("bump", "strobe", "drift")},
    **{name: (name, "") for name in ("kill", "stop", "rolling-restart", "pause", "torn-tail", "deleted-index")},
    "kill-all": ("kill", ""),
}
BREAKERS = [name for name in shipped() if name.startswith("breaker-") and not name.endswith("-twin")]


@pytest.mark.parametrize("name", shipped())
def test_it_loads_and_opens_with_one_paragraph(name):
    scenario = resolve(name)
    assert scenario.name == name
    assert shipped()[name].read_text().startswith("description = ")
    assert len(scenario.description.split()) >= 10
    assert "\n\n" not in scenario.description.strip()


@pytest.mark.parametrize("name", shipped())
def test_its_faults_can_be_planned_and_all_of_them_strike(name):
    scenario = with_seed(resolve(name), 1)
    kinds = {fault.kind for fault in planned_faults(scenario)}
    assert kinds == {fault.kind for fault in scenario.faults}


@pytest.mark.parametrize("name, fault", ONE_FAULT_EACH.items(), ids=ONE_FAULT_EACH)
def test_there_is_one_for_each_fault(name, fault):
    planned = planned_faults(with_seed(resolve(name), 3))
    assert {(each.kind, each.variant) for each in planned} == {fault}


def test_kill_all_kills_all():
    assert resolve("kill-all").faults[0].target == "all"


def test_the_default_is_what_the_command_line_promises():
    scenario = resolve("default")
    assert [fault.kind for fault in scenario.faults] == ["partition", "kill", "pause", "clock"]
    assert (scenario.nodes, scenario.workload.kind, scenario.clients.acks, scenario.topics.min_insync) == (3, "log", "all", 2)
    assert (scenario.clients.idempotence, scenario.topics.unclean, scenario.durations.time_limit) == (True, False, 60.0)


def test_the_storm_has_every_fault_on_five_nodes():
    scenario = resolve("storm")
    assert {fault.kind for fault in scenario.faults} == set(CATALOGUE)
    assert (scenario.nodes, scenario.durations.time_limit, scenario.topics.min_insync) == (5, 600.0, 2)


@pytest.mark.parametrize("name", BREAKERS)
def test_every_breaker_has_a_twin_that_differs_in_what_it_says(name):
    own, twin = (tomllib.loads(shipped()[each].read_text()) for each in (name, f"{name}-twin"))
    del own["description"], twin["description"]
    assert own != twin
    assert own.get("nodes") == twin.get("nodes")


def test_the_breaker_kills_the_leader_that_was_cut_while_it_is_cut():
    cut, kill = planned_faults(with_seed(resolve("breaker-unclean-election"), 1))[:2]
    assert str(kill.selector) == "as:cut" and cut.name == "cut"
    assert cut.start < kill.start < cut.end < kill.end
