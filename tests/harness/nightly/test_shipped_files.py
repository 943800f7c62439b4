"""What is shipped for a night to begin by itself: the workflow's steps are run as they stand, the timer is read by systemd."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.harness.clone import clone
from tests.harness.nodes.kinds import missing

ROOT = Path(__file__).resolve().parents[3]
WORKFLOW = ROOT / ".github" / "workflows" / "nightly.yml"
UNITS = sorted((ROOT / "docs" / "systemd").iterdir())
RUN = "        run: "


def steps() -> list[str]:
    """Each `run:` of the workflow, which are one line each."""
    lines = WORKFLOW.read_text().splitlines()
    assert not any(line.strip() in ("run: |", "run: >") for line in lines)
    return [line.removeprefix(RUN) for line in lines if line.startswith(RUN)]


def test_the_workflow_runs_a_night_and_keeps_what_it_found_though_it_failed():
    assert any("./highwater nightly" in step for step in steps())
    text = WORKFLOW.read_text()
    assert text.index("./highwater nightly") < text.index("if: always()") < text.index("actions/upload-artifact")


def test_systemd_understands_the_timer_and_its_service():
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed here")
    checked = subprocess.run(["systemd-analyze", "verify", *map(str, UNITS)], capture_output=True, text=True, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_systemd_does_not_understand_just_anything(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed here")
    timer = tmp_path / "highwater-nightly.timer"
    timer.write_text((ROOT / "docs" / "systemd" / "highwater-nightly.timer").read_text().replace("01:15:00", "at night"))
    shutil.copy(ROOT / "docs" / "systemd" / "highwater-nightly.service", tmp_path)
    checked = subprocess.run(["systemd-analyze", "verify", str(timer)], capture_output=True, text=True, timeout=60)
    assert checked.returncode != 0
    assert "calendar" in checked.stderr


@pytest.mark.long
def test_the_workflow_s_steps_end_well_in_a_clean_clone(tmp_path):
    if reason := missing("namespaces"):
        pytest.skip(reason)
    project = clone(tmp_path / "clone")
    summary = tmp_path / "summary.md"
    environment = os.environ | {"BUDGET": "3m", "GITHUB_STEP_SUMMARY": str(summary), "HOME": str(tmp_path)}
    for step in steps():
        ended = subprocess.run(["bash", "-e", "-c", step], cwd=project, env=environment, capture_output=True, text=True, timeout=900)
        assert ended.returncode == 0, f"{step}\n{ended.stdout}\n{ended.stderr}"
    suite = ElementTree.parse(project / "results" / "nightly" / "junit.xml").getroot()
    assert int(suite.attrib["tests"]) >= 1
    assert summary.read_text() == (project / "results" / "nightly" / "summary.md").read_text()
    assert "passed" in (project / "results" / "nightly" / "index.html").read_text()
