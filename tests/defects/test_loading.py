"""Every defect fits the broker it is made for: one that patches something that no longer exists would pass for a sound broker."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
DEFECTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__" and not path.stem.startswith("test_"))
LOAD = "import sys; from broker_impl import plugins; plugins.load(sys.argv[1])"


def constants(path: Path) -> dict[str, object]:
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def test_there_are_at_least_twenty():
    assert len(DEFECTS) >= 20


def test_all_of_them_install_into_this_broker():
    """Each in a process of its own: they replace what the next one needs."""
    running = [
        (path, subprocess.Popen([sys.executable, "-c", LOAD, str(path)], cwd=ROOT, stderr=subprocess.PIPE, text=True)) for path in DEFECTS
    ]
    failures = {path.stem: said for path, process in running if (said := process.communicate(timeout=60)[1]) or process.returncode}
    assert not failures


@pytest.mark.parametrize("path", DEFECTS, ids=lambda path: path.stem)
def test_each_says_how_it_is_to_be_caught(path):
    said = constants(path)
    assert said["ARM"] in ("cluster", "wire", "simulation")
    assert ("PLAN" in said) == (said["ARM"] == "cluster")
    assert said["ANOMALIES"]
    story = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert "Stands for" in story or "did so" in story
    assert "Exposed" in story


def test_a_defect_for_another_broker_is_an_error(tmp_path):
    path = tmp_path / "defect.py"
    path.write_text("from broker_impl.plugins import replace\ndef install():\n    replace('broker_impl.broker:Gone.method', None)\n")
    ended = subprocess.run([sys.executable, "-c", LOAD, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "there is no broker_impl.broker:Gone.method to replace" in ended.stderr
