"""`./highwater test`: everything that must hold before a change is kept.

Style, types and the table of who may import whom come first, because they are quick; then the tests. All are run even if one fails, so that
one call tells everything. Given paths or an expression, only those tests are run.

Most tests of real clusters wait more than they compute, so whole files of them are run side by side. Soaks and campaigns are not: they
set a pace, and so does whoever runs a few tests to see what they do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import DONE, FAILED, UserMistake

ROOT = Path(__file__).resolve().parents[2]

CHECKS = {
    "ruff": [sys.executable, "-m", "ruff", "check", "--quiet", "."],
    "mypy": [sys.executable, "-m", "mypy"],
    "import-linter": [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"],
}
PYTEST = [sys.executable, "-m", "pytest"]
MOST_SIDE_BY_SIDE = 4
NO_TESTS_FOUND = (4, 5)  # pytest's: a path that is not there, an expression that nothing fits

USAGE = """usage: ./highwater test [--long] [PATH ...] [-k EXPRESSION] [pytest's own options]

Checks style, types and imports, then runs the tests; with paths or -k only those tests.
  --long   also the soaks and campaigns that take minutes each
"""


def main(argv: Sequence[str]) -> int:
    if "-h" in argv or "--help" in argv:
        print(USAGE, end="")
        return DONE
    chosen = [_from_here(argument) for argument in argv if argument != "--long"]
    failed = [] if chosen else [name for name, command in CHECKS.items() if not _passes(name, command)]
    how = _everything() if "--long" in argv else [] if chosen else _side_by_side()
    code = _run("pytest", [*PYTEST, *how, *chosen])
    if chosen and code in NO_TESTS_FOUND:
        raise UserMistake("pytest found no test by these arguments")
    if failed:
        print(f"failed before the tests: {', '.join(failed)}")
    return FAILED if failed or code != 0 else DONE


def _side_by_side() -> list[str]:
    """In the order of the files, of which the longest do not come last."""
    processes = min(os.cpu_count() or 1, MOST_SIDE_BY_SIDE)
    return ["--numprocesses", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]


def _everything() -> list[str]:
    """An empty marker expression selects all; no time limit, for a campaign sets its own pace."""
    return ["-m", "", "--timeout", "3600", "--hypothesis-profile", "long"]


def _passes(name: str, command: Sequence[str]) -> bool:
    return _run(name, command) == 0


def _run(name: str, command: Sequence[str]) -> int:
    print(f"== {name}", flush=True)
    return subprocess.run(command, cwd=ROOT).returncode


def _from_here(argument: str) -> str:
    """A path is meant from where the user stands; pytest is run at the root."""
    path, double_colon, test = argument.partition("::")
    if path and not path.startswith("-") and Path(path).exists():
        return f"{Path(path).resolve()}{double_colon}{test}"
    return argument
