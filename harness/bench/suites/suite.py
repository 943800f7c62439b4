"""Suites: which cases are measured and how carefully, from TOML to frozen objects, or to one error that tells every mistake.

A suite has one or more `[[matrix]]` tables. Each field of one is a value or a list of values, and the table stands for every combination;
what it leaves out has the default of `Case`. Combinations that no broker could serve are refused, not skipped: a table that silently
lacks rows misleads.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from harness.bench.suites.case import Acks, Case, Compression, Measure
from harness.errors import UserMistake

SHIPPED = Path(__file__).parent
_MOST_NODES = 9
Whole = Annotated[int, Field(strict=True, ge=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Method(_Table):
    """How a suite is measured. Times in seconds."""

    rounds: Annotated[int, Field(ge=1, le=100)] = 5
    load_seconds: Annotated[float, Field(gt=0, le=600)] = 3.0
    most_mb: Whole = 800
    """What a load writes at most: one that fills the page cache measures the disk."""
    least_segments: Annotated[int, Field(ge=0)] = 3
    """What it writes at least, a partition, unless that takes several times as long."""
    latency_seconds: Annotated[float, Field(gt=0, le=600)] = 3.0
    latency_shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.5,)
    """Of what the slowest of the systems reached in this case."""
    latency_rates: tuple[Whole, ...] = ()
    """Messages a second."""
    search_seconds: Annotated[float, Field(gt=0, le=60)] = 2.0
    search_steps: Whole = 5
    steal_limit: Annotated[float, Field(ge=0, le=1)] = 0.1
    repeats: Annotated[int, Field(ge=0, le=10)] = 2
    """How often a round is tried again whose steal is above the limit."""
    warm_up: Annotated[float, Field(ge=0)] = 30.0
    warm_up_jit: Annotated[float, Field(ge=0)] = 900.0
    """For a system that compiles itself while it runs."""
    starts: Annotated[int, Field(ge=0, le=20)] = 3


class Matrix(_Table):
    """A value, or several, of each field of a case."""

    acks: tuple[Acks, ...] = ("all",)
    replicas: tuple[Whole, ...] = (3,)
    min_insync: tuple[Whole, ...] = (2,)
    flush_messages: tuple[Annotated[int, Field(ge=0)], ...] = (0,)
    idempotence: tuple[bool, ...] = (False,)
    record_bytes: tuple[Annotated[int, Field(ge=8, le=10 << 20)], ...] = (1024,)
    batch_bytes: tuple[Whole, ...] = (1_000_000,)
    batch_messages: tuple[Whole, ...] = (10_000,)
    linger_ms: tuple[Annotated[float, Field(ge=0)], ...] = (5.0,)
    compression: tuple[Compression, ...] = ("none",)
    partitions: tuple[Whole, ...] = (6,)
    producers: tuple[Annotated[int, Field(ge=1, le=64)], ...] = (1,)
    consumers: tuple[Annotated[int, Field(ge=1, le=64)], ...] = (1,)
    segment_bytes: tuple[Annotated[int, Field(ge=1 << 20)], ...] = (16 << 20,)
    measure: tuple[Measure, ...] = ("throughput", "latency")

    @field_validator("*", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value if isinstance(value, tuple) else (value,)

    def cases(self) -> Iterator[Case]:
        names = [name for name in type(self).model_fields if name != "measure"]
        for values in itertools.product(*(getattr(self, name) for name in names)):
            yield Case(**dict(zip(names, values, strict=True)), measure=self.measure)


class Suite(_Table):
    name: str
    description: str
    nodes: Annotated[int, Field(ge=1, le=_MOST_NODES)] = 3
    method: Method = Method()
    matrix: Annotated[tuple[Matrix, ...], Field(min_length=1)]

    @property
    def cases(self) -> list[Case]:
        """Each once, in the order of the file."""
        return list({case.key: case for table in self.matrix for case in table.cases()}.values())


def shipped_suites() -> dict[str, Suite]:
    return {path.stem: read_suite(path.stem) for path in sorted(SHIPPED.glob("*.toml"))}


def read_suite(reference: str) -> Suite:
    """By name, or by the path of a file of one's own."""
    path = SHIPPED / f"{reference}.toml"
    if not path.is_file() and not (path := Path(reference)).is_file():
        raise UserMistake(f"there is no suite `{reference}`; there are {', '.join(sorted(one.stem for one in SHIPPED.glob('*.toml')))}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UserMistake(f"{path} is not TOML: {problem}") from None
    return build_suite({"name": path.stem, **content}, path.name)


def build_suite(content: dict[str, Any], source: str) -> Suite:
    try:
        suite = Suite.model_validate(content)
    except ValidationError as refused:
        lines = [f"{'.'.join(map(str, error['loc']))}: {error['msg'].lower()}, not {error['input']!r}" for error in refused.errors()]
        raise UserMistake(_mistakes(source, lines)) from None
    impossible = [f"{case.key}: {why}" for case in suite.cases if (why := _impossible(case, suite.nodes))]
    if impossible:
        raise UserMistake(_mistakes(source, impossible))
    return suite


def _impossible(case: Case, nodes: int) -> str | None:
    if case.replicas > nodes:
        return f"{case.replicas} replicas on {nodes} nodes"
    if case.min_insync > case.replicas:
        return f"min_insync {case.min_insync} of {case.replicas} replicas"
    if case.idempotence and case.acks != "all":
        return "an idempotent producer needs acks=all"
    return None


def _mistakes(source: str, lines: list[str]) -> str:
    return f"{source}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{len(lines)} mistakes in {source}:", *lines])
