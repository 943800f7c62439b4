"""What a night is chosen from: a TOML file of scenarios, node counts and systems, multiplied out into cases.

A case is what is proven or not; a seed is how it is tried tonight. `scenarios` takes shell patterns over the names that come with the
project, and paths of files, so that the shipped suite covers every scenario there is without naming any.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.errors import UserMistake
from harness.scenarios.loading import resolve, shipped
from harness.scenarios.model import Scenario

SUITES = Path(__file__).parent / "suites"


class Group(BaseModel):
    """Scenarios that are run alike. Left out, nodes and systems are each scenario's own."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    scenarios: Annotated[list[str], Field(min_length=1)]
    except_for: list[str] = []
    nodes: list[Annotated[int, Field(ge=1, le=9)]] = []
    systems: list[Literal["highwater", "kafka"]] = []
    nodes_kinds: list[Literal["namespaces", "docker"]] = []
    seeds: Annotated[int, Field(ge=1, le=100)] = 1


class Suite(BaseModel):
    """`seeds` of a group: how many new ones a night, where the budget allows it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    description: str = ""
    groups: Annotated[list[Group], Field(min_length=1)]


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """`key` is the same every night. `least_s`: what it takes at least."""

    key: str
    reference: str
    flags: tuple[str, ...]
    least_s: float
    seeds: int = 1


def load_suite(reference: str) -> Suite:
    """By the name of one that comes with the project, or a path."""
    path = SUITES / f"{reference}.toml" if (SUITES / f"{reference}.toml").is_file() else Path(reference)
    if not path.is_file():
        known = sorted(each.stem for each in SUITES.glob("*.toml"))
        raise UserMistake(f"there is no suite {reference!r}; there are {', '.join(known)}, or the path of a TOML file")
    try:
        return Suite.model_validate(tomllib.loads(path.read_text()))
    except tomllib.TOMLDecodeError as problem:
        raise UserMistake(f"{path} is not TOML: {problem}") from None
    except ValidationError as problem:
        lines = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problem.errors()]
        raise UserMistake(f"{path}: " + "; ".join(lines)) from None


def cases_of(suite: Suite) -> list[Case]:
    """Each once, however many groups name it; all of its scenarios are read, so a mistake in any is told before the night begins."""
    found: dict[str, Case] = {}
    for group in suite.groups:
        for reference in _references(group):
            for case in _multiplied(reference, group):
                found.setdefault(case.key, case)
    return list(found.values())


def _references(group: Group) -> Iterator[str]:
    for wanted in group.scenarios:
        names = [name for name in shipped() if fnmatchcase(name, wanted)] or ([wanted] if Path(wanted).is_file() else [])
        if not names:
            near = difflib.get_close_matches(wanted, shipped(), 1)
            raise UserMistake(f"no scenario is called {wanted!r}" + (f"; did you mean `{near[0]}`?" if near else ""))
        yield from (name for name in names if not any(fnmatchcase(name, without) for without in group.except_for))


def _multiplied(reference: str, group: Group) -> Iterator[Case]:
    for nodes, system, kind in product(group.nodes or (None,), group.systems or (None,), group.nodes_kinds or (None,)):
        given = {"--nodes": nodes, "--system": system, "--nodes-kind": kind}
        flags = {name: value for name, value in given.items() if value is not None}
        scenario = resolve(reference, flags)
        key = f"{scenario.name}/{scenario.system}/{scenario.nodes_kind}/{scenario.nodes}"
        yield Case(key, reference, tuple(str(word) for pair in flags.items() for word in pair), _least(scenario), group.seeds)


def _least(scenario: Scenario) -> float:
    """Without the deployment and the check, of which only a first night can tell."""
    return scenario.durations.warm_up + scenario.durations.time_limit
