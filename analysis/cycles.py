"""Operations that depend on each other in a circle. To come; this is the interface.

Time is what makes it cheap. Operations are ordered by completion (ok) or invocation (others); nearly every dependency agrees with that
order, and every circle lies inside a stretch of time spanned by dependencies that do not. So a first pass collects these
stretches (`spans`), and a second the dependencies within them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.findings import Finding
from analysis.log import Log
from analysis.partition import Column

NAMES = ("G0", "G0-realtime", "G1c", "G1c-realtime", "G-single", "G2")
COLUMNS = ("process", "kind", "f", "outcome", "invoked", "completed", "value", "offset")


@dataclass(frozen=True, slots=True)
class Edges:
    """Dependencies and the operations they join, both as columns."""

    edges: dict[str, Column]
    operations: dict[str, Column]


def spans(log: Log) -> Column | None:
    """Stretches of time in which a dependency runs backwards: rows of start and end, apart from each other. None where there is none."""
    raise NotImplementedError


def join_spans(found: Sequence[Column]) -> Column:
    """Of several partitions or tasks."""
    raise NotImplementedError


def edges(log: Log, within: Column) -> Edges | None:
    """The dependencies inside the stretches."""
    raise NotImplementedError


def join_edges(found: Sequence[Edges]) -> Edges:
    raise NotImplementedError


def search(found: Edges) -> Iterator[Finding]:
    """All circles."""
    raise NotImplementedError
