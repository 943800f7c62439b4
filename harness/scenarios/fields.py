"""The fields of the model as data: path, flag, default, and what is allowed, in words.

Flags, help, error messages and the printed form of a scenario are all made from this walk, so none can know fewer fields than another.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from harness.scenarios.model import Scenario, Told

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ScenarioField:
    """A field that is no section. `type` is what remains of its annotation without bounds and without None."""

    path: tuple[str, ...]
    flag: str
    about: str
    allowed: str
    type: Any
    default: object


def scenario_fields() -> Iterator[ScenarioField]:
    yield from _walk(Scenario, ())


def allowed_values(info: FieldInfo) -> str:
    told = _told(info)
    return told.allowed if told and told.allowed else _in_words(*_bare(info.annotation, info.metadata))


def bare_type(info: FieldInfo) -> Any:
    return _bare(info.annotation, info.metadata)[0]


def is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _walk(model: type[BaseModel], prefix: tuple[str, ...]) -> Iterator[ScenarioField]:
    for name, info in model.model_fields.items():
        path = (*prefix, name)
        kind = bare_type(info)
        if is_model(kind):
            yield from _walk(kind, path)
            continue
        told = _told(info)
        flag = "--" + ((told and told.flag) or name).replace("_", "-")
        default = info.get_default(call_default_factory=True, validated_data={})
        yield ScenarioField(path, flag, info.description or "", allowed_values(info), kind, default)


def _told(info: FieldInfo) -> Told | None:
    _, metadata = _bare(info.annotation, info.metadata)
    return next((each for each in metadata if isinstance(each, Told)), None)


def _bare(annotation: Any, metadata: list[Any]) -> tuple[Any, list[Any]]:
    """Without None and Annotated, whose remarks join the others."""
    if get_origin(annotation) is Annotated:
        inner, *remarks = get_args(annotation)
        return _bare(inner, [*metadata, *_spread(remarks)])
    if get_origin(annotation) in (Union, types.UnionType):
        some = [each for each in get_args(annotation) if each is not type(None)]
        if len(some) == 1:
            return _bare(some[0], metadata)
    return annotation, metadata


def _spread(remarks: list[Any]) -> list[Any]:
    return [each for remark in remarks for each in (remark.metadata if isinstance(remark, FieldInfo) else [remark])]


def _in_words(bare: Any, metadata: list[Any]) -> str:
    origin = get_origin(bare)
    if origin is Literal:
        return ", ".join(map(str, get_args(bare)))
    if origin is tuple:
        return f"a list of {_in_words(get_args(bare)[0], [])}"
    if is_model(bare):
        return "tables"
    if bare in (int, float):
        return f"{'a whole number' if bare is int else 'a number'}{_bounds(metadata)}"
    return {bool: "true, false", str: "text"}.get(bare, "a table")


def _bounds(metadata: list[Any]) -> str:
    low = next((each for each in metadata if isinstance(each, annotated_types.Ge)), None)
    above = next((each for each in metadata if isinstance(each, annotated_types.Gt)), None)
    high = next((each for each in metadata if isinstance(each, annotated_types.Le)), None)
    start = f" from {low.ge}" if low else f" above {above.gt}" if above else ""
    return start + (f" to {high.le if isinstance(high.le, int) else format(high.le, '.10g')}" if high else "")
