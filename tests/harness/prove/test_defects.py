import pytest

from analysis.anomalies import ANOMALIES
from harness.errors import UserMistake
from harness.prove.defects import PLANS, find_defects, plan_named

SOUND = 'ARM = "cluster"\nPLAN = "calm"\nANOMALIES = ("lost",)\n'


def test_every_defect_of_a_cluster_names_anomalies_and_a_plan_that_are_there():
    for defect in find_defects():
        if defect.arm == "cluster":
            assert set(defect.anomalies) <= set(ANOMALIES), defect.name
            assert plan_named(defect.plan).durations.time_limit <= 30


def test_every_plan_is_used():
    assert {path.stem for path in PLANS.glob("*.toml")} == {defect.plan for defect in find_defects() if defect.plan}


def test_a_defect_is_found_by_name_and_a_misspelt_one_is_told_the_nearest():
    assert [defect.name for defect in find_defects(["sequence-gaps"])] == ["sequence-gaps"]
    with pytest.raises(UserMistake, match="did you mean `sequence-gaps`"):
        find_defects(["sequence-gap"])


def test_the_title_is_the_first_sentence():
    (defect,) = find_defects(["reads-above-watermark"])
    assert defect.title == "Consumers are given everything in the leader's log, committed or not"


@pytest.mark.parametrize(
    "content",
    ["ARM = 1 +\n", "", SOUND.replace("cluster", "cloud"), SOUND.replace("calm", "none"), SOUND.replace('("lost",)', "()")],
    ids=["no Python", "no constants", "no such arm", "no such plan", "nothing to find"],
)
def test_a_defect_that_says_it_wrongly_is_an_error(tmp_path, content):
    (tmp_path / "broken.py").write_text(content)
    with pytest.raises(UserMistake, match=r"broken\.py"):
        find_defects(folder=tmp_path)


def test_a_defect_that_says_it_rightly_is_none(tmp_path):
    (tmp_path / "broken.py").write_text(SOUND)
    assert [defect.plan for defect in find_defects(folder=tmp_path)] == ["calm"]
