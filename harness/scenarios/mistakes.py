"""Validation whose findings a person can read: the field, what it was, what is allowed.

pydantic judges every field, in its own language; its findings are translated with the model's own words. Fields that are wrong by
themselves are then taken out, and the rules about fields together are asked of what is left: nobody has to come twice.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from harness.scenarios.consistency import Problem, problems_in
from harness.scenarios.fields import Path, allowed_values, bare_type, is_model, scenario_fields
from harness.scenarios.flags import flag_of
from harness.scenarios.model import Scenario

_NO_KIND: Mapping[str, Any] = {"kind": ""}  # stands for a fault whose kind is not known, so that the others keep their numbers


def validate(data: Mapping[str, Any]) -> Scenario | list[Problem]:
    """The scenario, or everything that is wrong with it."""
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as refused:
        wrong = _translated(refused)
        paths = list(wrong)
        together = problems_in(Scenario.model_validate(_without(data, paths)))
        return [*wrong.values(), *(each for each in together if not any(_within(path, paths) for path in (each.path, *each.also)))]
    return problems_in(scenario) or scenario


def line_of(problem: Problem, source: str, given: Mapping[str, Any]) -> str:
    """With the flag's name if a flag said it (`given`: the flags as a file would say them), else with the source's."""
    if _holds(given, problem.path):
        return f"{flag_of(problem.path)}: {_inside(problem.path)}{problem.text}"
    return f"{source}: {_dotted(problem.path)}: {problem.text}"


def _translated(refused: ValidationError) -> dict[Path, Problem]:
    found: dict[Path, Problem] = {}
    for error in refused.errors(include_url=False):
        path, info, here, siblings = _located(error["loc"])
        value = _shown(error["input"])
        if error["type"] == "extra_forbidden":
            text = f"there is no such field; {_nearest(str(path[-1]), siblings)}"
        elif is_model(here):
            text = f"{value} is no table; allowed: a table of {', '.join(here.model_fields)}"
        else:
            assert info is not None
            fact = "is missing" if error["type"] == "missing" else f"{value} is not allowed"
            text = f"{fact}; allowed: {allowed_values(info)}"
        found.setdefault(path, Problem(path, text))
    return found


def _located(location: Sequence[str | int]) -> tuple[Path, FieldInfo | None, Any, list[str]]:
    """The path as people know it, the field it leads to, that field's type, and the names beside it.

    Where pydantic goes on into elements of a list or members of a union, people do not.
    """
    here: Any = Scenario
    path: list[str | int] = []
    info: FieldInfo | None = None
    siblings: list[str] = []
    for part in location:
        if is_model(here):
            siblings = list(here.model_fields)
            info = here.model_fields.get(str(part))
            here = bare_type(info) if info else None
        elif get_origin(here) is tuple and is_model(get_args(here)[0]):
            here = get_args(here)[0]
        elif isinstance(get_origin(here), type) and issubclass(get_origin(here), Mapping):
            here = None
        else:
            break
        path.append(part)
    return tuple(path), info, here, siblings


def _without(data: Any, paths: Sequence[Path]) -> Any:
    """The same without what lies at the paths; elements of a list keep their places."""
    here = {path[0] for path in paths if len(path) == 1}
    deeper = {part: [path[1:] for path in paths if len(path) > 1 and path[0] == part] for part in {path[0] for path in paths}}
    if isinstance(data, tuple):
        return tuple(_NO_KIND if at in here else _NO_KIND | _without(each, deeper.get(at, [])) for at, each in enumerate(data))
    if not isinstance(data, Mapping):
        return data
    return {key: _without(each, deeper[key]) if deeper.get(key) else each for key, each in data.items() if key not in here}


def _within(path: Path, others: Sequence[Path]) -> bool:
    return any(path[: len(each)] == each for each in others)


def _nearest(word: str, siblings: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, siblings, 1)
    if near:
        return f"did you mean `{near[0]}`?"
    elsewhere = {field.path[-1]: ".".join(field.path) for field in scenario_fields()}
    far = difflib.get_close_matches(word, elsewhere, 1)
    return f"did you mean `{elsewhere[far[0]]}`?" if far else f"allowed: {', '.join(siblings)}"


def _holds(given: Any, path: Path) -> bool:
    """Whether the flags said it: lists are replaced as a whole, all else field by field."""
    for part in path:
        if not isinstance(given, Mapping):
            return isinstance(given, list)
        if part not in given:
            return False
        given = given[part]
    return True


def _inside(path: Path) -> str:
    """What the flag alone does not say."""
    if len(path) == 1 or path[0] not in ("faults", "broker"):
        return ""
    return f"{path[1]} " if path[0] == "broker" else f"{_dotted(path)}: "


def _dotted(path: Path) -> str:
    if len(path) > 1 and path[0] == "faults":
        return f"fault {int(path[1]) + 1}" + (f", {'.'.join(map(str, path[2:]))}" if len(path) > 2 else "")
    return f'broker."{path[1]}"' if len(path) > 1 and path[0] == "broker" else ".".join(map(str, path))


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else text[:57] + "..."
