"""The house rules a machine can check: who may import whom, and that the broker touches the world only in `machine/`.

The import table itself is kept by import-linter (pyproject.toml, run by `./highwater test`); here it is shown to bite. Modules the broker
may not import are banned by ruff; calls that need no import, or whose module is fine otherwise, are looked for here.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"broker_impl", "harness", "workloads", "nemesis", "analysis", "tests"}
ROOMS_OF_HARNESS = {"history", "nodes", "systems", "scenarios", "run", "prove", "nightly", "shrink", "bench", "cli", "web"}
BROKER_MODULES = [
    path
    for path in sorted((ROOT / "broker_impl").rglob("*.py"))
    if path.relative_to(ROOT / "broker_impl").parts[0] not in ("machine", "__main__.py")
]

# Calls by the name they end in, that belong to broker_impl.machine wherever the object came from.
CALLS_OF_MACHINE = {"open", "run_in_executor", "to_thread", "urandom", "Random", "SystemRandom", "uuid4", "Thread"}


def test_there_are_no_other_top_level_packages():
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found == PACKAGES


def test_the_harness_has_only_the_rooms_of_the_design():
    found = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}
    assert found <= ROOMS_OF_HARNESS


def test_the_docker_folder_cannot_shadow_the_docker_sdk():
    assert not list((ROOT / "docker").rglob("*.py"))


def test_the_broker_touches_files_clocks_randomness_and_threads_only_in_machine():
    found = [f"{path.relative_to(ROOT)}:{line}: {name}" for path in BROKER_MODULES for line, name in forbidden_calls(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "line, found",
    [
        ("open('f')", "open"),
        ("loop.run_in_executor(None, f)", "run_in_executor"),
        ("await asyncio.to_thread(f)", "to_thread"),
        ("to_thread(f)", "to_thread"),
        ("time.sleep(1)", "time.sleep"),
        ("random.Random(7)", "Random"),
        ("uuid4()", "uuid4"),
    ],
)
def test_a_forbidden_call_is_found(line, found):
    assert [name for _, name in forbidden_calls(f"async def f():\n    {line}\n")] == [found]


@pytest.mark.parametrize("line", ["disk.open('f')", "def f(random: random.Random): pass", "await asyncio.sleep(1)"])
def test_a_call_through_a_seam_is_allowed(line):
    indented = f"async def g():\n    {line}\n"
    assert list(forbidden_calls(indented)) == []


def test_the_import_table_bites(tmp_path):
    """A small tree in which every row of the table is broken once: every contract must say so."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in [*PACKAGES, *(f"harness/{room}" for room in ROOMS_OF_HARNESS - {"web"}), "harness/errors"]:
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / "__init__.py").touch()
    breaches = {
        "broker_impl": "import harness.history",
        "harness/systems": "import nemesis",
        "harness/cli": "import broker_impl",
        "workloads": "import harness.nodes",
        "analysis": "import harness.systems",
        "nemesis": "import harness.history",
    }
    for package, line in breaches.items():
        (tmp_path / package / "breach.py").write_text(line + "\n")
    lint = "from importlinter.cli import lint_imports_command as lint; lint(['--no-cache'])"
    done = subprocess.run([sys.executable, "-c", lint], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Contracts: 0 kept, 6 broken." in done.stdout


def forbidden_calls(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of each call that belongs to machine/. Disks have an `open` of their own: only the bare one is a file's."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id=name) if name in CALLS_OF_MACHINE:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="time"), attr="sleep"):
                yield node.lineno, "time.sleep"
            case ast.Attribute(attr=name) if name in CALLS_OF_MACHINE - {"open"}:
                yield node.lineno, name
