"""From a name or a path, and flags, to a scenario; or to one error that tells every mistake in it, a line each.

Layers, each over the one before: the model's defaults, the preset the file names, the file, the preset a flag names, the flags. So a
preset on the command line beats what the file says of clients, and a flag beside it beats the preset.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UserMistake
from harness.scenarios.broker_settings import flattened
from harness.scenarios.flags import layer
from harness.scenarios.mistakes import line_of, validate
from harness.scenarios.model import PRESETS, Scenario

SHIPPED = Path(__file__).parent


class ScenarioMistake(UserMistake):
    """Everything that is wrong with one scenario."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join([f"{len(lines)} mistakes in the scenario:", *lines]))
        self.lines = tuple(lines)


def shipped() -> dict[str, Path]:
    """Scenarios that come with the project, by name, the default one first."""
    paths = sorted(SHIPPED.glob("*.toml"), key=lambda path: (path.stem != "default", path.stem))
    return {path.stem: path for path in paths}


def resolve(reference: str, flags: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of that name or in that file, with what the flags (`--acks` -> value) say instead."""
    path = _find(reference)
    return build(_read(path), flags or {}, path.name if reference in shipped() else str(path), path.stem)


def build(content: Mapping[str, Any], flags: Mapping[str, Any], source: str, name: str) -> Scenario:
    """`source` is what messages call the content; `name` is the scenario's unless it says another."""
    given = layer(flags)
    data: dict[str, Any] = {"name": name}
    for each in (_preset(content), _with_flat_names(content), _preset(given), given):
        data = _merged(data, each)
    found = validate(_with_tuples(data))
    if isinstance(found, Scenario):
        return found
    raise ScenarioMistake([line_of(problem, source, given) for problem in found])


def _find(reference: str) -> Path:
    known = shipped()
    if reference in known:
        return known[reference]
    path = Path(reference)
    if path.is_file():
        return path
    if "/" in reference or reference.endswith(".toml"):
        raise UserMistake(f"there is no file {reference}; `./highwater scenarios` lists the scenarios that come with the project")
    nearest = difflib.get_close_matches(reference, known, 1)
    hint = f"did you mean `{nearest[0]}`? " if nearest else ""
    raise UserMistake(f"there is no scenario {reference!r}; {hint}`./highwater scenarios` lists them")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UserMistake(f"{path} is not TOML: {problem}") from None


def _preset(content: Mapping[str, Any]) -> dict[str, Any]:
    workload = content.get("workload")
    preset = workload.get("preset") if isinstance(workload, Mapping) else None
    return {"clients": dict(PRESETS[preset])} if isinstance(preset, str) and preset in PRESETS else {}


def _with_flat_names(content: Mapping[str, Any]) -> dict[str, Any]:
    settings = content.get("broker")
    return {**content, "broker": flattened(settings)} if isinstance(settings, Mapping) else dict(content)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(below)
    for name, value in above.items():
        under = both.get(name)
        both[name] = _merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return both


def _with_tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_tuples(each) for key, each in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
