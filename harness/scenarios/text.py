"""A scenario as the TOML file that says all of it: what `scenarios NAME` shows, and a start for a file of one's own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.scenarios.model import Scenario

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(scenario: Scenario) -> str:
    """Read again it gives the same scenario. What was left out stays out: TOML has no null."""
    data = scenario.model_dump(exclude_none=True)
    lines = list(_pairs({name: value for name, value in data.items() if not isinstance(value, dict) and name != "faults"}))
    for name, table in data.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *_pairs(table)]
    for fault in data["faults"]:
        lines += ["", "[[faults]]", *_pairs({name: value for name, value in fault.items() if value != {}})]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        yield f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_pairs(value)) + "}"
    return json.dumps(value, ensure_ascii=False)
