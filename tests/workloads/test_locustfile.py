"""The locustfile's shapes, looked at in a process of its own, as gevent demands; and that nothing of ours imports it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("harness", "workloads", "nemesis", "analysis", "broker_impl", "tests")
_ASK = """
import json, sys
from workloads.locustfile import users_at
print(json.dumps([users_at(*each) for each in json.loads(sys.argv[1])]))
"""


def users_at(*asked):
    done = subprocess.run([sys.executable, "-c", _ASK, json.dumps(asked)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_how_many_producers_each_shape_has_over_time():
    shapes = {
        "flat": [20, 20, 20, 20, 20, 20],
        "step": [5, 5, 10, 15, 20, 20],
        "ramp": [1, 4, 9, 11, 20, 20],
        "spike": [4, 4, 20, 20, 4, 4],
    }
    moments = (0, 20, 45, 55, 99.9, 100)
    found = users_at(*[(shape, moment, 20, 100) for shape in shapes for moment in moments])
    assert found == [users for expected in shapes.values() for users in expected]


def test_a_load_of_one_producer_always_has_one():
    assert users_at(*[(shape, moment, 1, 10) for shape in ("step", "ramp", "spike") for moment in (0, 5, 9)]) == [1] * 9


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_imports_it(package):
    importers = [path for path in (ROOT / package).rglob("*.py") if _imports_it(path.read_text())]
    assert importers == []


def _imports_it(text):
    for node in ast.walk(ast.parse(text if "locustfile" in text else "")):
        if isinstance(node, ast.Import) and any(alias.name == "workloads.locustfile" for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {alias.name for alias in node.names}
            if node.module == "workloads.locustfile" or (node.module == "workloads" and "locustfile" in names):
                return True
    return False
