import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent


def caught(arm: str, defect: str | None, *more: str) -> str | None:
    given = ["--defect", str(FOLDER / f"{defect}.py")] if defect else []
    command = [sys.executable, "-m", f"tests.defects.arms.{arm}", *given, *more]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["found"]


@pytest.mark.parametrize("defect, told", [("raft_votes_twice", "voted for"), ("raft_counts_old_entries", "without entry")])
def test_the_simulation_catches_a_broken_quorum(defect, told):
    assert told in (caught("simulation", defect) or "")


def test_the_simulation_does_not_accuse_the_sound_quorum():
    assert caught("simulation", None, "--schedules", "20") is None


def test_the_wire_catches_an_accepted_gap():
    assert "sequence gap accepted" in (caught("wire", "sequence_gaps") or "")


def test_the_wire_does_not_accuse_the_sound_broker():
    assert caught("wire", None) is None


def test_a_defect_that_does_not_load_is_an_error(tmp_path):
    path = tmp_path / "nothing.py"
    path.write_text("x = 1\n")
    command = [sys.executable, "-m", "tests.defects.arms.simulation", "--defect", str(path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert ended.returncode != 0
    assert "has no install()" in ended.stderr
