"""Sent later, stored earlier: the order of what one client sent with one record key.

Only the highest place up to now has to be known of a client and key. So a partition too large for one look is judged
piece by piece: what is carried from one to the next is a row or two of each client and key.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analysis.check import Check
from analysis.findings import Finding, Witness
from analysis.log import Log
from analysis.partition import MISSING, Column
from analysis.places import UNKNOWN
from analysis.sorting import changes, groups_of, order_by, order_of, rises_for_each
from analysis.telling import finding, seconds
from harness.history.schema import Outcome

Sends = dict[str, Column]
"""In the order they were sent: client, key, value, op, process, invoked, whether they were ok, and the offset at which each lies."""


def reordered(log: Log) -> Iterator[Finding]:
    chosen, place = log.placed
    if rises_for_each(place, lambda: _clients(log)[chosen]):
        return
    client = _clients(log)[chosen]
    order = order_of(client)
    if not (changes(client[order]) | (np.diff(place[order]) > 0)).all():
        yield late(log, _sends(log, chosen, place))[0]


def late(log: Log, sends: Sends, before: Sends | None = None) -> tuple[Finding, Sends]:
    """The values that lie before one that was sent before them; and what has to be known of these and those `before`."""
    known = len(before["op"]) if before else 0
    together = {name: np.concatenate((before[name], column)) for name, column in sends.items()} if before else sends
    order = order_by(together["client"], together["key"])
    group = groups_of(together["client"][order], together["key"][order])
    place = np.unique(together["lies"], return_inverse=True)[1][order]
    ok = together["ok"][order] == 1
    ok_place = np.where(ok, place, UNKNOWN)
    certain = ok & (_highest_before(group, ok_place) > place)
    found = np.flatnonzero((_highest_before(group, place) > place) & (order >= known))
    doubtful = ~certain[found]

    def tell(at: int) -> Witness:
        here = int(found[at])
        earlier = np.flatnonzero((group[:here] == group[here]) & (place[:here] > place[here]) & (ok[:here] | bool(doubtful[at])))
        return _tell(log, together, int(order[earlier[0]]), int(order[here]), bool(doubtful[at]))

    kept = np.unique(np.concatenate((order[_highest_of(group, place)], order[_highest_of(group, ok_place)])))
    carried = {name: column[kept] for name, column in together.items()}
    return finding("reordered", (together["value"][order[found]],), tell, doubtful), carried


def sends_of(log: Log) -> Sends:
    """Those that may be reordered."""
    return _sends(log, *log.placed)


def _sends(log: Log, chosen: Column, place: Column) -> Sends:
    rows = log.sends[chosen]
    columns = {name: log.rows[name][rows].astype(np.int64) for name in ("key", "value", "op", "process", "invoked")}
    columns["client"] = _clients(log)[chosen]
    columns["ok"] = (log.rows["outcome"][rows] == Outcome.OK).astype(np.int64)
    columns["lies"] = log.pairs.offset[log.first_at_place][place]
    return columns


def _clients(log: Log) -> Column:
    """Who sent, for each of `sends`: the producer's number, or where there is none that of the process, which is another."""
    producer = log.rows["producer"][log.sends]
    unknown = producer == MISSING
    return np.where(unknown, log.rows["process"][log.sends].astype(np.int64) * 2 + 1, producer * 2) if unknown.any() else producer * 2


def _highest_before(group: Column, place: Column) -> Column:
    """The highest place before each position, of the same group."""
    if len(place) == 0:
        return place
    width = int(place.max()) + 2
    highest = np.maximum.accumulate(group * width + place + 1) - group * width - 1
    before = np.concatenate(([UNKNOWN], highest[:-1]))
    before[1:][changes(group)] = UNKNOWN
    return before


def _highest_of(group: Column, place: Column) -> Column:
    """The position of the highest place of each group, where one is known."""
    known = np.flatnonzero(place != UNKNOWN)
    order = known[order_by(group[known], place[known])]
    return order[np.append(changes(group[order]), True)] if len(order) else order


def _tell(log: Log, sends: Sends, earlier: int, later: int, doubtful: bool) -> Witness:
    texts = []
    for at in (earlier, later):
        value, op, process, invoked, lies = (int(sends[name][at]) for name in ("value", "op", "process", "invoked", "lies"))
        told = "acknowledged" if sends["ok"][at] else "outcome unknown"
        texts.append(f"process {process} (op {op}, {seconds(invoked)}) sent value {value} ({told}), which lies at offset {lies}")
    sentence = f"{texts[0].capitalize()}; later, {texts[1]}: sent later, stored earlier."
    ops = (int(sends["op"][earlier]), int(sends["op"][later]))
    identity = (int(sends["value"][later]),)
    return Witness(sentence, identity, ops, log.rows.topic, log.rows.part, int(sends["lies"][later]), doubtful)


CHECKS = (Check(("reordered",), ("f", "outcome", "value", "offset", "producer"), reordered),)
