"""A flag for every field of a scenario, made from the model, and its text turned into what a file would have said.

Nothing is judged here: a text that is no number stays a text, and validation tells what is allowed in the same words for files and
flags. Faults have a short form of their own: `partition:one-way@leader/lost=sent,kill@all/lasts=5`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, get_origin

from harness.errors import UserMistake
from harness.scenarios.fields import ScenarioField, scenario_fields

NOTHING = "none"  # a list without elements
_OF_FAULTS = ("name", "at", "lasts", "every", "rests")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Every field of a scenario, in groups as in a file."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in scenario_fields():
        section = field.path[0] if len(field.path) > 1 else "scenario"
        if section not in groups:
            groups[section] = parser.add_argument_group(section)
        _add(groups[section], field)


def given_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """Flag -> value as a file would have it, for those that were given: what `resolve` takes."""
    found = {}
    for field in scenario_fields():
        text = getattr(arguments, _destination(field), None)
        if text is not None:
            found[field.flag] = parse_flag(field, text)
    return found


def parse_flag(field: ScenarioField, text: str | bool | list[str]) -> Any:
    if field.flag == "--fault":
        return [fault for each in text for fault in parse_faults(each)] if isinstance(text, list) else parse_faults(str(text))
    if field.flag == "--set":
        return dict(_setting(each) for each in (text if isinstance(text, list) else [str(text)]))
    if get_origin(field.type) is tuple:
        return [] if text == NOTHING else [each.strip() for each in str(text).split(",")]
    return _number(text, field.type) if field.type in (int, float) and isinstance(text, str) else text


def parse_faults(text: str) -> list[dict[str, Any]]:
    return [] if text == NOTHING else [_fault(each.strip()) for each in text.split(",")]


def _add(group: argparse._ArgumentGroup, field: ScenarioField) -> None:
    where: dict[str, Any] = {"dest": _destination(field), "default": None}
    about = f"{field.about} ({field.allowed}; default {_shown(field.default)})".replace("%", "%%")
    if field.type is bool:
        group.add_argument(field.flag, action=argparse.BooleanOptionalAction, help=about, **where)
    elif field.flag == "--fault":
        group.add_argument(field.flag, action="append", metavar="FAULTS", help=f"{field.about}; may be repeated", **where)
    elif field.flag == "--set":
        group.add_argument(field.flag, action="append", metavar="NAME=VALUE", help=f"{field.about}; may be repeated", **where)
    else:
        group.add_argument(field.flag, metavar=_placeholder(field), help=about, **where)


def _destination(field: ScenarioField) -> str:
    return "scenario_" + "_".join(field.path)


def _placeholder(field: ScenarioField) -> str:
    return {int: "N", float: "N", str: "TEXT"}.get(field.type, "WORDS" if get_origin(field.type) is tuple else "WORD")


def _shown(default: object) -> str:
    if default is None or default in ("", ()):
        return "none"
    return f"{default:g}" if isinstance(default, float) else str(default)


def _fault(text: str) -> dict[str, Any]:
    """What stands before the first slash is kind, variant and target; what comes after are fields and parameters."""
    head, *rest = text.split("/")
    head, at_sign, target = head.partition("@")
    kind, colon, variant = head.partition(":")
    fault: dict[str, Any] = {"kind": kind} | ({"variant": variant} if colon else {}) | ({"target": target} if at_sign else {})
    parameters: dict[str, Any] = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if not (name and equals):
            raise UserMistake(f"--fault: {part!r} in {text!r} is not of the form name=value")
        if name in _OF_FAULTS:
            fault[name] = value if name == "name" else _number(value, float)
        else:
            parameters[name] = _scalar(value)
    return fault | ({"parameters": parameters} if parameters else {})


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UserMistake(f"--set: {text!r} is not of the form name=value")
    return name, {"true": True, "false": False}.get(value, _scalar(value))


def _scalar(text: str) -> int | float | str:
    whole = _number(text, int)
    return whole if isinstance(whole, int) else _number(text, float)


def _number(text: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text


def flag_of(path: tuple[str | int, ...]) -> str | None:
    """The flag that sets the field at this path, or the list or table it lies in."""
    return next((field.flag for field in scenario_fields() if path[: len(field.path)] == field.path), None)


def path_of(flag: str) -> tuple[str, ...]:
    return next(field.path for field in scenario_fields() if field.flag == flag)


def layer(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags as a file would say them."""
    data: dict[str, Any] = {}
    for flag, value in flags.items():
        *sections, name = path_of(flag)
        inner = data
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = value
    return data
