"""When service is promised: always, but while what was done to the cluster leaves too little of it.

The times are those that the definition of `unavailable` takes away (`anomalies`): a fault that may strike anything suspends the promise for
its whole length, one that takes its targets only while the targets of all such faults together leave no majority of the nodes, or
fewer replicas than have to be in sync. Times in which the harness itself stood still are told beside it, for they decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from analysis.anomalies import TAKES_ITS_TARGETS, TAKES_NOBODY
from analysis.context import Progress
from analysis.partition import Column
from analysis.settled import Settled
from harness.history.beside import Event, Fault
from harness.history.plan import Plan
from harness.history.stalls import EVENT, Stall

FOR_GOOD = np.iinfo(np.int64).max
Times = list[tuple[int, int]]


def progress_of(settled: Settled, plan: Plan | None, faults: Sequence[Fault], events: Iterable[Event]) -> Progress | None:
    """None where progress is not promised."""
    if settled["progress"] is not True:
        return None
    strikes = [fault for fault in faults if fault.start is not None and fault.fault not in TAKES_NOBODY]
    whole = [(_start(fault), _end(fault)) for fault in strikes if fault.fault not in TAKES_ITS_TARGETS]
    taking = [fault for fault in strikes if fault.fault in TAKES_ITS_TARGETS]
    return Progress(_column(whole + _too_few(taking, settled, _nodes(plan, settled))), _column(stalled_times(events)))


def stalled_times(events: Iterable[Event]) -> Times:
    """Of stalls that are long enough to matter."""
    told = [event for event in events if event.event == EVENT and event.t is not None and event.detail]
    stalls = [Stall(event.node, event.t or 0, json.loads(event.detail or "{}")["end"]) for event in told]
    return [(stall.start, stall.end) for stall in stalls if stall.matters]


def _too_few(faults: Sequence[Fault], settled: Settled, nodes: int | None) -> Times:
    """Between any two moments at which a fault begins or ends, the same nodes are struck."""
    moments = sorted({moment for fault in faults for moment in (_start(fault), _end(fault))})
    found: Times = []
    for begin, end in pairwise(moments):
        struck = {node for fault in faults if _start(fault) <= begin < _end(fault) for node in fault.targets}
        if struck and not _serves(len(struck), settled, nodes):
            found.append((begin, end))
    return found


def _serves(struck: int, settled: Settled, nodes: int | None) -> bool:
    if nodes is None:
        return False
    replicas = settled["replicas"] if isinstance(settled["replicas"], int) else nodes
    return nodes - struck > nodes // 2 and replicas - struck >= settled.number("min_insync")


def _nodes(plan: Plan | None, settled: Settled) -> int | None:
    settings = plan.scenario.get("settings") if plan is not None else None
    told = settings.get("nodes") if isinstance(settings, dict) else None
    replicas = settled["replicas"]
    return told if isinstance(told, int) else replicas if isinstance(replicas, int) else None


def _start(fault: Fault) -> int:
    assert fault.start is not None, "only faults that took place"
    return fault.start


def _end(fault: Fault) -> int:
    return int(FOR_GOOD) if fault.end is None else fault.end


def _column(times: Times) -> Column:
    return np.array(sorted(times), np.int64).reshape(-1, 2)
