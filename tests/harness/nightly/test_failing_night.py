"""A scenario that is made to fail, from the night that finds it to the smaller plan that still does."""

import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from harness.prove.defects import PLANS
from tests.harness.nodes.kinds import missing

ROOT = Path(__file__).resolve().parents[3]
DEFECT = ROOT / "tests" / "defects" / "truncates_to_watermark.py"


def highwater(*words: str) -> subprocess.CompletedProcess[str]:
    """As the launcher calls it."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "harness.cli", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200)


@pytest.mark.long
def test_what_fails_is_reported_kept_run_again_by_the_printed_command_and_shrunk(tmp_path):
    if reason := missing("namespaces"):
        pytest.skip(reason)
    (tmp_path / "doomed.toml").write_text(f'plugin = "{DEFECT}"\n' + (PLANS / "kill-all.toml").read_text())
    (tmp_path / "suite.toml").write_text(f'[[groups]]\nscenarios = ["{tmp_path / "doomed.toml"}"]\n')
    results = tmp_path / "results"

    night = highwater("nightly", str(tmp_path / "suite.toml"), "--budget", "5m", "--seed", "1", "--results", str(results))
    assert night.returncode == 1, night.stdout + night.stderr
    failure = ElementTree.parse(results / "nightly" / "junit.xml").find(".//failure")
    assert failure is not None and failure.text
    told = dict(line.split(": ", 1) for line in failure.text.splitlines() if line.startswith("again: "))
    kept = Path(failure.text.rpartition("kept in ")[2])
    assert (kept / "history").is_dir()
    for name in ("summary.md", "index.html"):
        assert told["again"] in (results / "nightly" / name).read_text()

    launcher, *words = shlex.split(told["again"])
    assert launcher == "./highwater"
    again = highwater(*words, "--results", str(results))
    assert again.returncode == 1, again.stdout + again.stderr

    shrunk = highwater("shrink", str(kept), "--runs", "6", "--results", str(results))
    assert shrunk.returncode == 0, shrunk.stdout + shrunk.stderr
    assert "again: ./highwater run --again" in shrunk.stdout
