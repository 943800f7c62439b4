import pytest

from harness.errors import UserMistake
from harness.nightly.suite import Group, Suite, cases_of, load_suite
from harness.scenarios.loading import shipped


def test_the_shipped_suite_covers_every_scenario_there_is():
    assert {case.reference for case in cases_of(load_suite("default"))} == set(shipped())


def test_a_group_is_multiplied_out():
    group = Group(scenarios=["calm"], nodes=[3, 5], systems=["highwater", "kafka"], seeds=2)
    cases = cases_of(Suite(groups=[group]))
    assert [case.key for case in cases] == [
        "calm/highwater/namespaces/3",
        "calm/kafka/namespaces/3",
        "calm/highwater/namespaces/5",
        "calm/kafka/namespaces/5",
    ]
    assert cases[3].flags == ("--nodes", "5", "--system", "kafka")
    assert cases[3].seeds == 2


def test_what_two_groups_name_is_one_case_and_exceptions_are_left_out():
    suite = Suite(groups=[Group(scenarios=["kill*"], except_for=["*-all"]), Group(scenarios=["kill"])])
    assert [case.reference for case in cases_of(suite)] == ["kill"]


def test_a_scenario_may_be_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("nodes = 1\n[topics]\nreplicas = 1\nmin_insync = 1\n[durations]\nwarm_up = 1.0\ntime_limit = 7.0\n")
    (case,) = cases_of(Suite(groups=[Group(scenarios=[str(path)])]))
    assert (case.key, case.least_s) == ("mine/highwater/namespaces/1", 8.0)


@pytest.mark.parametrize(
    "content, told",
    [
        ("groups = [", "is not TOML"),
        ("[[groups]]\nscenarios = []\n", "groups.0.scenarios"),
        ("[[groups]]\nscenarios = ['calm']\nnode = [3]\n", "groups.0.node"),
        ("", "groups"),
    ],
)
def test_a_mistake_is_named_with_file_and_field(tmp_path, content, told):
    path = tmp_path / "suite.toml"
    path.write_text(content)
    with pytest.raises(UserMistake, match=f"suite.toml.*{told}"):
        load_suite(str(path))


def test_an_unknown_suite_or_scenario_is_told_what_there_is():
    with pytest.raises(UserMistake, match="there are default"):
        load_suite("nothing")
    with pytest.raises(UserMistake, match="did you mean `calm`"):
        cases_of(Suite(groups=[Group(scenarios=["clam"])]))
