"""Operations that depend on each other in a circle, over all partitions; `circles` names the kinds and searches, here is what is searched.

Time is what makes it cheap. Operations are ordered by completion (ok) or invocation (others). Nearly every dependency agrees with that
order, and every circle lies in a stretch of time that is covered by dependencies that do not. So a first pass collects the stretches
(`spans`), and a second the dependencies inside them (`edges`). Where a run only sends and polls, even the stretches are too much: then a
circle needs an arc (see `dependencies`), which a sound broker never gives, and only what touches one is collected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis import circles
from analysis.circles import Edges
from analysis.dependencies import Dependencies, ended, inside, moment, touches
from analysis.findings import Finding
from analysis.log import Log, Mask
from analysis.partition import Column
from analysis.sorting import order_of
from analysis.times import NONE, together

__all__ = ["COLUMNS", "NAMES", "Edges", "Spans", "edges", "join_edges", "join_spans", "search", "spans"]

NAMES = tuple(kind.name for kind in circles.CIRCLES)
COLUMNS = ("process", "kind", "f", "outcome", "invoked", "completed", "value", "offset")


@dataclass(frozen=True, slots=True)
class Spans:
    """When there may be circles: in the `stretches` if some operation is compound anywhere, else in the `arcs`. Rows of start and end.

    `unsearched` partitions are too large to tell their dependencies; they are known to have no circle of their own.
    """

    compound: bool = False
    arcs: Column = field(default_factory=lambda: NONE)
    stretches: Column = field(default_factory=lambda: NONE)
    unsearched: int = 0

    @property
    def times(self) -> Column:
        return self.stretches if self.compound else self.arcs

    def __len__(self) -> int:
        return len(self.times)


def spans(log: Log) -> Spans | None:
    """What one partition adds; None where nothing is known to lie in it."""
    if len(log.pairs.number) == 0:
        return None
    found = Dependencies(log)
    return Spans(found.compound, NONE if found.compound else together(found.arcs()), together(found.stretches()))


def join_spans(found: Sequence[Spans]) -> Spans:
    """Of several partitions or tasks."""
    arcs, stretches = (together(np.concatenate([getattr(one, name) for one in found])) for name in ("arcs", "stretches"))
    return Spans(any(one.compound for one in found), arcs, stretches, sum(one.unsearched for one in found))


def edges(log: Log, within: Spans) -> Edges | None:
    """The dependencies inside the spans, and the operations they join."""
    if len(log.pairs.number) == 0 or len(within) == 0:
        return None
    found = Dependencies(log)
    source, target, kind = found.all
    marked = _inside(log, found, within)
    chosen = np.flatnonzero(marked[source] & marked[target])
    if len(chosen) == 0:
        return None
    columns = {"source": log.rows["op"][source[chosen]], "target": log.rows["op"][target[chosen]], "kind": kind[chosen]}
    columns |= found.evidence(chosen) | {"place": np.zeros(len(chosen), np.int64)}
    return Edges((f"{log.rows.topic}-{log.rows.part}",), columns, _operations(log, np.concatenate((source[chosen], target[chosen]))))


def join_edges(found: Sequence[Edges]) -> Edges:
    names = tuple(sorted({name for one in found for name in one.names}))
    where = [np.array([names.index(name) for name in one.names], np.int64)[one.edges["place"]] for one in found]
    columns = {name: np.concatenate([one.edges[name] for one in found]) for name in found[0].edges}
    operations = {name: np.concatenate([one.operations[name] for one in found]) for name in found[0].operations}
    return Edges(names, columns | {"place": np.concatenate(where)}, _once(operations))


def search(found: Edges) -> Iterator[Finding]:
    """All circles."""
    yield from circles.search(found)


def _inside(log: Log, found: Dependencies, within: Spans) -> Mask:
    """Of each row: its operation may be a part of a circle."""
    marked = np.zeros(len(log.rows), np.bool_)
    if within.compound:
        ends = np.concatenate(found.all[:2])
        marked[ends] = inside(within.times, moment(log, ends))
    else:
        marked[log.writer] = touches(within.times, found.begun, found.over)
        marked[log.polls] = touches(within.times, found.begun_of_polls, ended(log, log.polls))
    return marked


def _operations(log: Log, rows: Column) -> dict[str, Column]:
    columns = {name: log.rows[name][rows].astype(np.int64) for name in ("op", "process", "invoked")}
    return _once(columns | {"over": ended(log, rows)})


def _once(operations: dict[str, Column]) -> dict[str, Column]:
    """A row an operation."""
    order = order_of(operations["op"])
    op = operations["op"][order]
    first = np.concatenate(([0], np.flatnonzero(op[1:] != op[:-1]) + 1))
    return {
        "op": op[first],
        "process": operations["process"][order[first]],
        "invoked": np.minimum.reduceat(operations["invoked"][order], first),
        "over": np.maximum.reduceat(operations["over"][order], first),
    }
