"""The broken brokers there are, read from their files without loading them: a plugin loaded here would break this process.

A defect says by constants how it is to be caught (`tests/defects`). One that says it wrongly is an error, never a defect left out.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.errors import UserMistake
from harness.scenarios.loading import resolve
from harness.scenarios.model import Scenario

Arm = Literal["cluster", "wire", "simulation"]

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "defects"
PLANS = Path(__file__).parent / "plans"
_ARMS = ("cluster", "wire", "simulation")


@dataclass(frozen=True, slots=True)
class Defect:
    """`anomalies`: one of them must be found; outside of clusters, words that the finding must contain. `plan` is empty there."""

    name: str
    path: Path
    story: str
    arm: Arm
    plan: str
    anomalies: tuple[str, ...]

    @property
    def title(self) -> str:
        """The first sentence of the story."""
        return self.story.partition("\n\n")[0].replace("\n", " ").rstrip(".")


def find_defects(names: Sequence[str] = (), folder: Path = FOLDER) -> list[Defect]:
    """Those named, or all of them, in the order of their names."""
    paths = {path.stem.replace("_", "-"): path for path in sorted(folder.glob("*.py")) if not path.stem.startswith(("test_", "__"))}
    for name in names:
        if name not in paths:
            near = difflib.get_close_matches(name, paths, 1)
            raise UserMistake(
                f"there is no defect {name!r}; " + (f"did you mean `{near[0]}`?" if near else f"there are {', '.join(paths)}")
            )
    return [_read(name, path) for name, path in paths.items() if not names or name in names]


def plan_named(name: str) -> Scenario:
    """The scenario of one cycle."""
    return resolve(str(PLANS / f"{name}.toml"))


def _read(name: str, path: Path) -> Defect:
    try:
        module = ast.parse(path.read_text())
        said = _constants(module)
        arm, anomalies, plan = said["ARM"], tuple(said["ANOMALIES"]), said.get("PLAN", "")
    except (SyntaxError, ValueError, KeyError, TypeError) as problem:
        raise UserMistake(
            f"{path} does not say how it is to be caught: {problem!r}; tests/defects/__init__.py tells what is needed"
        ) from None
    if arm not in _ARMS or not anomalies or (arm == "cluster") != bool(plan) or (plan and not (PLANS / f"{plan}.toml").exists()):
        raise UserMistake(
            f"{path}: ARM is one of {', '.join(_ARMS)}, a defect of the arm `cluster` has a PLAN that is there, and ANOMALIES"
        )
    return Defect(name, path, ast.get_docstring(module) or "", arm, plan, anomalies)


def _constants(module: ast.Module) -> dict[str, Any]:
    return {
        target.id: ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    }
