"""Where runs lie, how one is named, and which have lost their owner."""

import json
import os
import re

import pytest

from harness.errors import UserMistake
from harness.history.plan import Plan, Promises, write_plan
from harness.run.folder import RunFolder, find_run, ownerless


@pytest.fixture
def made(tmp_path):
    folder = RunFolder.create(tmp_path, "storm")
    write_plan(folder.path, Plan(1, Promises()))
    return folder


def test_a_run_lies_under_its_scenario_by_time_and_id(made, tmp_path):
    assert re.fullmatch(rf"storm/\d{{8}}-\d{{6}}-{made.run_id}", str(made.path.relative_to(tmp_path.resolve())))


def test_the_newest_is_the_latest(made, tmp_path):
    newer = RunFolder.create(tmp_path, "calm")
    assert (tmp_path / "latest").resolve() == newer.path
    assert not os.path.isabs(os.readlink(tmp_path / "latest"))


def test_a_run_is_found_by_folder_id_latest_and_name(made, tmp_path):
    names = (str(made.path), made.run_id, "latest", f"storm/{made.path.name}")
    assert {find_run(name, tmp_path) for name in names} == {made.path}


def test_a_run_that_is_not_there_is_said_with_the_ways_to_name_one(tmp_path):
    with pytest.raises(UserMistake, match="its folder, its id, or `latest`"):
        find_run("f00", tmp_path)


def test_a_living_run_has_an_owner_and_one_whose_process_is_gone_has_not(made, tmp_path):
    assert list(ownerless(tmp_path)) == []
    (made.path / "running.json").write_text(json.dumps({"pid": os.getpid(), "started": 1}))
    assert list(ownerless(tmp_path)) == [made]


def test_a_run_that_is_over_leaves_its_results_alone(made, tmp_path):
    (made.work / "n1").mkdir()
    made.release()
    assert not made.work.exists() and list(ownerless(tmp_path)) == []
    assert find_run("latest", tmp_path) == made.path
