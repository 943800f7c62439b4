"""Circles of operations: who overwrote, read from, came after or did not see whom, all partitions together.

The graph of a long history is large and hardly anything of it lies on a circle. Put the operations in the order of time: every circle
has an edge that goes back. What such edges span, joined where it overlaps, is all that can be on a circle, and is looked at with
networkx, first with all kinds of edges: what lies on no circle then lies on none at all. Real time is not drawn edge by edge: a chain of
moments stands between what was over and what was begun later.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import networkx as nx

from analysis.reference.logs import Log, Row, Run
from analysis.reference.partitions import One

Edge = tuple[int, int]


class Edges(NamedTuple):
    ww: set[Edge]
    wr: set[Edge]
    rw: set[Edge]


def circles(run: Run) -> Iterator[One]:
    ops = {row.op: row for row in run.rows}
    edges = _spanned_backwards(_edges(run), ops)
    on_circles = set().union(*_components(edges.ww | edges.wr | edges.rw, ops, realtime=True))
    ww, wr, rw = (found & on_circles for found in edges)
    for inside in _components(ww, ops, realtime=False):
        yield One("G0", (_smallest(inside),))
    for inside in _components(ww, ops, realtime=True):
        if _has_realtime(inside, ops):
            yield One("G0-realtime", (_smallest(inside),))
    for inside in _components(ww | wr, ops, realtime=False):
        if inside & wr:
            yield One("G1c", (_smallest(inside),))
    for inside in _components(ww | wr, ops, realtime=True):
        if inside & wr and _has_realtime(inside, ops):
            yield One("G1c-realtime", (_smallest(inside),))
    for inside in _components(ww | wr | rw, ops, realtime=False):
        if closing := inside & rw:
            without = nx.DiGraph(list(inside & (ww | wr)))
            single = any(start in without and end in without and nx.has_path(without, end, start) for start, end in closing)
            yield One("G-single" if single else "G2", (_smallest(inside),))


def _edges(run: Run) -> Edges:
    edges = Edges(set(), set(), set())
    for log in run.logs.values():
        versions = _versions(log)
        writers = [log.writer.get(value) for _, value in versions]
        edges.ww.update((before.op, after.op) for before, after in pairwise(writers) if before and after)
        for row in log.polls:
            if row.value is not None and row.value in log.writer:
                edges.wr.add((log.writer[row.value].op, row.op))
        for row in log.rows:
            if row.f == "end" and row.outcome == "ok" and row.offset is not None:
                following = bisect_left(versions, row.offset, key=lambda version: version[0])
                if following < len(versions) and (writer := writers[following]):
                    edges.rw.add((row.op, writer.op))
    ww, wr, rw = ({(one, other) for one, other in found if one != other} for found in edges)
    return Edges(ww, wr - ww, rw)


def _versions(log: Log) -> list[tuple[int, int]]:
    """Offset and value of the places that count as written, in order."""
    if log.rules == "jepsen":
        return log.order
    return [(offset, value) for place, (offset, value) in enumerate(log.order) if log.first_place[value] == place]


def _spanned_backwards(edges: Edges, ops: dict[int, Row]) -> Edges:
    """Those inside a stretch of time that an edge spans backwards."""
    moment = {op: (row.completed if row.outcome == "ok" and row.completed is not None else row.invoked, op) for op, row in ops.items()}
    back = sorted((moment[end], moment[start]) for found in edges for start, end in found if moment[end] < moment[start])
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for start, end in back:
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)

    def stretch(op: int) -> int | None:
        number = bisect_right(starts, moment[op]) - 1
        return number if number >= 0 and moment[op] <= ends[number] else None

    def kept(found: set[Edge]) -> set[Edge]:
        return {(one, other) for one, other in found if (where := stretch(one)) is not None and where == stretch(other)}

    return Edges(*(kept(found) for found in edges))


def _components(edges: set[Edge], ops: dict[int, Row], *, realtime: bool) -> Iterable[set[Edge]]:
    """The edges inside each strongly connected component that has any. Moments are negative vertices."""
    graph = nx.DiGraph(list(edges))
    if realtime:
        vertices = list(graph)
        over = sorted({row.completed for op in vertices if (row := ops[op]).outcome == "ok" and row.completed is not None})
        graph.add_edges_from((-1 - number, -2 - number) for number in range(len(over) - 1))
        for op in vertices:
            row = ops[op]
            if row.outcome == "ok" and row.completed is not None:
                graph.add_edge(op, -1 - bisect_left(over, row.completed))
            if before := bisect_left(over, row.invoked):
                graph.add_edge(-before, op)
    number_of = {op: number for number, found in enumerate(nx.strongly_connected_components(graph)) for op in found}
    inside: dict[int, set[Edge]] = defaultdict(set)
    for one, other in edges:
        if number_of[one] == number_of[other]:
            inside[number_of[one]].add((one, other))
    return inside.values()


def _smallest(inside: set[Edge]) -> int:
    return min(min(edge) for edge in inside)


def _has_realtime(inside: set[Edge], ops: dict[int, Row]) -> bool:
    rows = [ops[op] for edge in inside for op in edge]
    over = [row.completed for row in rows if row.outcome == "ok" and row.completed is not None]
    return bool(over) and min(over) < max(row.invoked for row in rows)
