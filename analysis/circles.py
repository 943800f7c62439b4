"""Kinds of circles as data, and one search for all of them.

A kind says which dependencies a circle may be made of and which it needs. Strongly connected components of the graph of those it may
have are the circles; one is of the kind if those it needs are inside. Real time is no edge between all that follow each other but a line of
moments: an operation leads to the moment it was over, a moment to the next, and a moment to what was invoked after it.

A component can be large; a person needs one short way round, told step by step. SciPy and NetworkX take longer to load than a small history
takes to check, so they are loaded where there is something to search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analysis.dependencies import NEVER, REALTIME, RW, WR, WW
from analysis.findings import SHOWN, Finding, Witness
from analysis.log import Mask
from analysis.partition import MISSING, Column
from analysis.sorting import order_of, position_in
from analysis.telling import seconds

if TYPE_CHECKING:
    import networkx as nx

LARGEST_TOLD = 5_000
"""Operations of a component in which a way round is looked for; of a larger one only its size is told."""

TRIED = 20
"""Dependencies from which a way round is begun, the shortest of which is told."""


@dataclass(frozen=True, slots=True)
class Circle:
    """`single`: whether one anti-dependency closes a circle with the others alone; None where it does not matter."""

    name: str
    may: int
    needs: int
    single: bool | None = None


CIRCLES = (
    Circle("G0", WW, WW),
    Circle("G0-realtime", WW | REALTIME, REALTIME),
    Circle("G1c", WW | WR, WR),
    Circle("G1c-realtime", WW | WR | REALTIME, WR | REALTIME),
    Circle("G-single", WW | WR | RW, RW, single=True),
    Circle("G2", WW | WR | RW, RW, single=False),
)


@dataclass(frozen=True, slots=True)
class Edges:
    """Dependencies and the operations they join. `place` is a number in `names`; `over` is NEVER where an operation was not ok."""

    names: tuple[str, ...]
    edges: dict[str, Column]
    operations: dict[str, Column]


def search(found: Edges) -> Iterator[Finding]:
    graph = _Graph(found)
    for circle in CIRCLES:
        components = graph.components(circle)
        if circle.single is not None:
            components = [one for one in components if graph.closed_by_one(one) is circle.single]
        witnesses = [graph.tell(circle, one) for one in components[:SHOWN]]
        yield Finding(circle.name, len(components), tuple(witnesses))


class _Graph:
    """Operations are numbered in the order of `op`, so that a component's first is its smallest."""

    def __init__(self, found: Edges) -> None:
        self.found = found
        self.op, self.invoked, self.over = (found.operations[name] for name in ("op", "invoked", "over"))
        self.source, self.target = (position_in(self.op, found.edges[name]) for name in ("source", "target"))
        self.kind = found.edges["kind"]
        twice = (self.kind == WR) & np.isin(self._pair, self._pair[self.kind == WW])
        self.edges = np.flatnonzero(~twice)

    @property
    def _pair(self) -> Column:
        return self.source * len(self.op) + self.target

    def components(self, circle: Circle) -> list[Column]:
        """Of a kind, each as the numbers of its operations, by the smallest."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        chosen = self.edges[(self.kind[self.edges] & circle.may) != 0]
        source, target = self.source[chosen], self.target[chosen]
        count = len(self.op)
        if circle.may & REALTIME:
            moments, real_source, real_target = self.real_time(np.arange(count))
            source, target = np.concatenate((source, real_source)), np.concatenate((target, real_target))
            count += moments
        matrix = coo_array((np.ones(len(source), np.bool_), (source, target)), shape=(count, count))
        _, labels = connected_components(matrix.tocsr(), directed=True, connection="strong")
        label = labels[: len(self.op)].astype(np.int64)
        inner = chosen[label[self.source[chosen]] == label[self.target[chosen]]]
        return _members(label, self._is_of(circle, label, inner), np.union1d(self.source[inner], self.target[inner]))

    def closed_by_one(self, component: Column) -> bool:
        """Whether an rw edge in it closes a circle with ww and wr alone."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        inner = self.inner(component, WW | WR | RW)
        steps = [(int(self.source[edge]), int(self.target[edge]), int(self.kind[edge])) for edge in inner]
        graph.add_edges_from((source, target) for source, target, kind in steps if kind != RW)
        return any(
            source in graph and target in graph and nx.has_path(graph, target, source) for source, target, kind in steps if kind == RW
        )

    def tell(self, circle: Circle, component: Column) -> Witness:
        smallest = int(self.op[component[0]])
        if len(component) > LARGEST_TOLD:
            sentence = (
                f"{len(component)} operations from op {smallest} to op {int(self.op[component[-1]])} depend on each other in a circle."
            )
            return Witness(sentence, (smallest,), (smallest,))
        way = _from_smallest(_shortest_way(self, circle, component))
        label = {number: f"T{place}" for place, number in enumerate(dict.fromkeys(number for number, _ in way), 1)}
        who = ", ".join(f"{name} is {self._who(number)}" for number, name in label.items())
        steps = []
        for (number, edge), (after, _) in zip(way, [*way[1:], way[0]], strict=True):
            steps.append(f"{label[number]} is before {label[after]}, because {self._because(label, number, after, edge)}")
        sentence = f"{who}. {'; '.join(steps)}: a contradiction."
        return Witness(sentence, (smallest,), tuple(int(self.op[number]) for number in label))

    def real_time(self, operations: Column) -> tuple[int, Column, Column]:
        """How many moments there are, and the edges to, along and from them; their numbers follow those of the operations."""
        ok = operations[self.over[operations] != NEVER]
        moments = np.unique(self.over[ok])
        base = len(self.op)
        line = np.arange(max(len(moments) - 1, 0))
        since = np.searchsorted(moments, self.invoked[operations]) - 1
        late = since >= 0
        source = np.concatenate((ok, base + line, base + since[late]))
        target = np.concatenate((base + np.searchsorted(moments, self.over[ok]), base + line + 1, operations[late]))
        return len(moments), source, target

    def _is_of(self, circle: Circle, label: Column, inner: Column) -> Mask:
        """Of each component: it has what the kind needs."""
        found: Mask = np.bincount(label) > 1
        for kind in (WW, WR, RW):
            if circle.needs & kind:
                has = np.zeros(len(found), np.bool_)
                has[label[self.source[inner[self.kind[inner] == kind]]]] = True
                found &= has
        if circle.needs & REALTIME:
            first, last = np.full(len(found), NEVER), np.full(len(found), MISSING)
            np.minimum.at(first, label, self.over)
            np.maximum.at(last, label, self.invoked)
            found &= first < last
        return found

    def inner(self, component: Column, kinds: int) -> Column:
        """Edges of these kinds with both ends in a component."""
        within = np.zeros(len(self.op), np.bool_)
        within[component] = True
        edges = self.edges
        found: Column = edges[within[self.source[edges]] & within[self.target[edges]] & ((self.kind[edges] & kinds) != 0)]
        return found

    def _who(self, number: int) -> str:
        process, over = int(self.found.operations["process"][number]), int(self.over[number])
        end = f"over at {seconds(over)}" if over != NEVER else "not known to have ended"
        return f"op {int(self.op[number])} of process {process} (invoked at {seconds(int(self.invoked[number]))}, {end})"

    def _because(self, label: dict[int, str], before: int, after: int, edge: int | None) -> str:
        if edge is None:
            return f"it was over at {seconds(int(self.over[before]))}, and {label[after]} began at {seconds(int(self.invoked[after]))}"
        about = {name: int(column[edge]) for name, column in self.found.edges.items()}
        place = self.found.names[about["place"]]
        if about["kind"] == WW:
            return (
                f"in {place} its value {about['value']} at offset {about['offset']} is followed by {label[after]}'s "
                f"value {about['next_value']} at offset {about['next_offset']}"
            )
        if about["kind"] == WR:
            return f"{label[after]} polled its value {about['value']} at offset {about['offset']} of {place}"
        return (
            f"it was told that {place} ends at offset {about['offset']}, where {label[after]}'s value {about['next_value']} "
            f"lies at offset {about['next_offset']}"
        )


Step = tuple[int, int | None]
"""An operation and the edge that leads on from it; None is real time."""


def _shortest_way(graph: _Graph, circle: Circle, component: Column) -> list[Step]:
    """Round the component, with everything the kind needs in it. A state is an operation (or moment) and which needs are met."""
    import networkx as nx

    needed = circle.needs & ~REALTIME or WW
    first = graph.inner(component, needed)[:TRIED]
    states = _states(graph, circle, component)
    ways = []
    for edge in first.tolist():
        source, target = int(graph.source[edge]), int(graph.target[edge])
        begin, end = (target, int(graph.kind[edge]) & circle.needs), (source, circle.needs)
        if begin in states and end in states and nx.has_path(states, begin, end):
            ways.append((source, edge, nx.shortest_path(states, begin, end, weight="weight")))
    source, edge, path = min(ways, key=lambda way: len(way[2]))
    operations = [(state, number) for number, state in enumerate(path) if state[0] < len(graph.op)]
    way: list[Step] = [(source, edge)]
    for (state, at), (_, after) in pairwise(operations):
        way.append((state[0], states.edges[state, path[after]]["edge"] if after == at + 1 else None))
    return way


def _from_smallest(way: list[Step]) -> list[Step]:
    at = min(range(len(way)), key=lambda place: way[place][0])
    return way[at:] + way[:at]


def _states(graph: _Graph, circle: Circle, component: Column) -> nx.DiGraph[tuple[int, int]]:
    """An anti-dependency that closes a circle alone is not met again on the way."""
    import networkx as nx

    states: nx.DiGraph[tuple[int, int]] = nx.DiGraph()
    steps = [
        (int(graph.source[edge]), int(graph.target[edge]), int(graph.kind[edge]), 1, edge)
        for edge in graph.inner(component, circle.may & ~(RW if circle.single else 0)).tolist()
    ]
    if circle.may & REALTIME:
        _, source, target = graph.real_time(component)
        count = len(graph.op)
        for one, other in zip(source.tolist(), target.tolist(), strict=True):
            steps.append((one, other, 0 if other >= count else REALTIME, int(one < count), -1))
    met = [bits for bits in range(circle.needs + 1) if bits & circle.needs == bits]
    for source_, target_, kind, weight, edge in steps:
        for bits in met:
            states.add_edge((source_, bits), (target_, bits | kind & circle.needs), weight=weight, edge=edge)
    return states


def _members(label: Column, chosen: Mask, dependent: Column) -> list[Column]:
    """The operations of each chosen component, by the smallest; not those that only real time put there."""
    numbers = dependent[chosen[label[dependent]]]
    order = order_of(label[numbers])
    numbers = numbers[order]
    edges = np.flatnonzero(np.diff(label[numbers])) + 1
    return sorted(np.split(numbers, edges), key=lambda one: int(one[0])) if len(numbers) else []
