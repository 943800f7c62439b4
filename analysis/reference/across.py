"""What needs more than one partition or the files beside the history: transactions, and times without service."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from analysis.anomalies import LONGEST_GAP_NS, PAUSE_NS, TAKES_ITS_TARGETS, TAKES_NOBODY
from analysis.reference.logs import Log, Row, Run
from analysis.reference.partitions import One
from harness.history.stalls import EVENT, MATTERS_NS

Span = tuple[int, int]
FOREVER = 2**63


def transactions(run: Run) -> Iterator[One]:
    """precommitted-read and torn-transaction."""
    present: dict[int, set[bool]] = defaultdict(set)
    for log in run.logs.values():
        for row in log.polls:
            if row.value in log.writer and log.writer[row.value].op == row.op:
                yield One("precommitted-read", (row.op,))
        for row in log.sends:
            if row.kind == "txn" and row.op in run.committed and log.final_read is not None and _is_asked_about(log, row):
                present[row.op].add(row.value in log.final_read)
    yield from (One("torn-transaction", (op,)) for op, found in present.items() if len(found) == 2)


def intermediate_reads(log: Log) -> Iterator[One]:
    """G1b."""
    sent: dict[int, list[Row]] = defaultdict(list)
    for row in log.sends:
        if row.kind == "txn" and row.outcome != "fail":
            sent[row.op].append(row)
    several = {op: rows for op, rows in sent.items() if len(rows) > 1}
    writer = {row.value: op for op, rows in several.items() for row in rows}
    if not writer:
        return
    read: dict[int, list[Row]] = defaultdict(list)
    for row in log.polls:
        if row.outcome == "ok":
            read[row.op].append(row)
    for reader, rows in read.items():
        values = {row.value for row in rows}
        furthest = max((place for row in rows if (place := log.polled_place(row)) is not None), default=-1)
        for op in {writer[value] for value in values if value in writer} - {reader}:
            last = several[op][-1]
            place = log.sent_place(last)
            if last.value not in values and place is not None and furthest > place:
                yield One("G1b", (reader, op))


def unavailable(log: Log, suspended: list[Span], stalls: list[Span]) -> Iterator[One]:
    for start, end in _without(_gaps(log), suspended):
        if end - start > LONGEST_GAP_NS and not any(since < end and until > start for since, until in stalls):
            yield One("unavailable", (start,))


def stalls_that_matter(run: Run) -> list[Span]:
    told = [
        (event.t, json.loads(event.detail)["end"]) for event in run.events if event.event == EVENT and event.t is not None and event.detail
    ]
    return [(start, end) for start, end in told if end - start > MATTERS_NS]


def suspended_promises(run: Run) -> list[Span]:
    """When the faults left too few to serve, or nobody can say."""
    struck = [(fault, fault.start, FOREVER if fault.end is None else fault.end) for fault in run.faults if fault.start is not None]
    promises = run.plan.promises
    settings = run.plan.scenario.get("settings", {})
    nodes = settings.get("nodes") or promises.replicas or 0
    replicas, needed = promises.replicas or nodes, promises.min_insync or 1
    moments = sorted({0, FOREVER} | {moment for _, start, end in struck for moment in (start, end)})
    found = []
    for since, until in pairwise(moments):
        now = [fault for fault, start, end in struck if start <= since and until <= end and fault.fault not in TAKES_NOBODY]
        away = {target for fault in now for target in fault.targets}
        known = all(fault.fault in TAKES_ITS_TARGETS for fault in now)
        if now and not (known and 2 * (nodes - len(away)) > nodes and replicas - len(away) >= needed):
            found.append((since, until))
    return found


def _is_asked_about(log: Log, send: Row) -> bool:
    return send.offset is None or log.log_start <= send.offset < (log.end or 0)


def _gaps(log: Log) -> list[Span]:
    """Times with a send under way and none acknowledged."""
    under_way = sorted((row.invoked, row.invoked if row.completed is None else row.completed) for row in log.sends)
    acknowledged = sorted({row.completed for row in log.sends if row.outcome == "ok" and row.completed is not None})
    stretches: list[list[int]] = []
    for start, end in under_way:
        if stretches and start - stretches[-1][1] <= PAUSE_NS:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([start, end])
    gaps = []
    following = iter([*acknowledged, FOREVER])
    moment = next(following)
    for start, end in stretches:
        since = start
        while moment <= end:
            if moment > since:
                gaps.append((since, moment))
                since = moment
            moment = next(following)
        gaps.append((since, end))
    return gaps


def _without(spans: list[Span], taken: list[Span]) -> Iterator[Span]:
    """What is left of the spans; `taken` is in order and does not overlap."""
    for start, end in spans:
        left = start
        for since, until in taken:
            if left < since < end:
                yield left, since
            if since < end:
                left = max(left, until)
        if left < end:
            yield left, end
