"""What can be told from one topic-partition alone: delivery, offsets, order, look-ups by time, replicas."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import NamedTuple

from analysis.anomalies import METADATA_TOPIC
from analysis.reference.logs import Log, Row
from harness.history.schema import CORRUPT, MISPLACED, Phase


class One(NamedTuple):
    """An instance of an anomaly, without its topic-partition."""

    name: str
    identity: tuple[int, ...]
    doubtful: bool = False


def delivery(log: Log) -> Iterator[One]:
    for row in log.polls:
        if row.error in (CORRUPT, MISPLACED) and row.offset is not None:
            yield One(row.error, (row.offset,))
        if row.value is None:
            continue
        if row.value not in log.writer:
            yield One("phantom", (row.value,))
        elif row.outcome == "ok" and log.writer[row.value].outcome == "fail":
            yield One("G1a", (row.value, row.op, row.micro))
    bound = max((log.first_place[value] for value in log.ok_reads if value in log.first_place), default=-1)
    for value, send in log.writer.items():
        unread, acknowledged = value not in log.ok_reads, send.outcome == "ok"
        if unread and send.op in log.committed and log.last_place.get(value, bound + 1) <= bound:
            yield One("lost-write", (value,))
        if unread and acknowledged:
            yield One("unseen", (value,))
        if acknowledged and log.final_read is not None and value not in log.final_read and not log.was_deleted(value):
            yield One("lost", (value,))


def lost_after_read(log: Log) -> Iterator[One]:
    gone: set[int] = set()
    if log.final_read is not None:
        gone = {row.value for row in log.polls if row.outcome == "ok" and row.phase != Phase.FINAL and row.value is not None}
        gone -= log.final_read
    if log.dumped:
        gone |= log.ok_reads - log.dumped
    yield from (One("lost-after-read", (value,)) for value in gone if not log.was_deleted(value))


def offsets(log: Log) -> Iterator[One]:
    for offset, values in log.values_at.items():
        polled, acknowledged = log.polled_at.get(offset, set()), log.acknowledged_at.get(offset, set())
        if len(values) > 1:
            yield One("inconsistent-offsets", (offset,))
        if len(polled) > 1:
            yield One("read-conflict", (offset,))
        if any(one != other for one in acknowledged for other in polled):
            yield One("ack-conflict", (offset,))
    yield from (One("duplicate", (value,)) for value, found in log.offsets_of.items() if len(found) > 1)


def order_inside_operations(log: Log) -> Iterator[One]:
    rebalanced = {row.op for row in log.rows if row.f == "rebalance"}
    for before, now in pairwise(log.ordered_polls):
        if before.op == now.op and now.op not in rebalanced:
            step = _step(log.polled_place(before), log.polled_place(now))
            if step > 1:
                yield One("int-poll-skip", (now.op, now.micro))
            elif step < 1:
                yield One("int-nonmonotonic-poll", (now.op, now.micro))
    for before, now in pairwise(log.sends):
        if before.op == now.op:
            step = _step(log.sent_place(before), log.sent_place(now))
            if step > 1:
                yield One("int-send-skip", (now.op, now.micro))
            elif step < 1:
                yield One("int-nonmonotonic-send", (now.op, now.micro))


def order_of_polls(log: Log) -> Iterator[One]:
    """Along each process. `position` has the place it read last, none where that is unknown."""
    position: dict[int, int | None] = {}
    looked_at = -1
    for row in log.rows:
        if row.f == "poll" and log.has_order(row):
            place = log.polled_place(row)
            if row.op != looked_at:
                looked_at = row.op
                step = _step(position.get(row.process), place)
                if step != 1:
                    yield One("poll-skip" if step > 1 else "nonmonotonic-poll", (row.op,))
            if row.outcome == "ok":
                position[row.process] = place
        elif row.f == "seek" and row.outcome == "ok" and row.offset is not None:
            position[row.process] = bisect_left(log.order, row.offset, key=itemgetter(0)) - 1
        elif (row.f == "seek" and row.outcome == "info") or (row.f == "forget" and row.outcome != "fail"):
            position[row.process] = None


def order_of_sends(log: Log) -> Iterator[One]:
    last: dict[int, Row] = {}
    for row in log.rows:
        if row.f == "forget" and row.outcome != "fail":
            last.pop(row.process, None)
        elif row.f == "send" and row.outcome != "fail":
            before = last.get(row.process, row)
            if before.op != row.op and _step(log.sent_place(before), log.sent_place(row)) < 1:
                doubtful = "info" in (before.outcome, row.outcome) or before.producer != row.producer
                yield One("nonmonotonic-send", (row.op,), doubtful)
            last[row.process] = row


def reordered(log: Log) -> Iterator[One]:
    """`highest` place so far of each client and record key: of all sends, and of those acknowledged."""
    highest: dict[tuple[object, ...], int] = defaultdict(lambda: -1)
    for row in log.sends:
        place = log.sent_place(row)
        if place is None or row.outcome == "fail" or row.value is None:
            continue
        client = ("process", row.process) if row.producer is None else ("producer", row.producer)
        sent, acknowledged = (*client, row.key, "sent"), (*client, row.key, "acknowledged")
        if place < highest[sent]:
            yield One("reordered", (row.value,), doubtful=row.outcome == "info" or place >= highest[acknowledged])
        highest[sent] = max(place, highest[sent])
        if row.outcome == "ok":
            highest[acknowledged] = max(place, highest[acknowledged])


def look_ups(log: Log) -> Iterator[One]:
    """Offsets with the times polled there; what is asked of them is the greatest so far, by offset and by when it was read."""
    asked = [row for row in log.rows if row.f == "lookup" and row.outcome == "ok" and row.timestamp is not None]
    times: dict[int, set[int]] = defaultdict(set)
    read: list[tuple[int, int]] = []
    for row in log.polls if asked else ():
        if row.outcome == "ok" and row.timestamp is not None and row.offset is not None and row.offset >= log.log_start:
            times[row.offset].add(row.timestamp)
            read.append((row.completed if row.completed is not None else row.invoked, row.offset))
    read.sort()
    known = sorted(times)
    greatest_before = [-1, *accumulate((min(times[offset]) for offset in known), max)]
    greatest_read = [-1, *accumulate((min(times[offset]) for _, offset in read), max)]
    for row in asked:
        assert row.timestamp is not None
        if row.offset is None:
            stale = greatest_read[bisect_left(read, (row.invoked, -1))] >= row.timestamp
        else:
            older = row.offset in times and max(times[row.offset]) < row.timestamp
            stale = older or greatest_before[bisect_left(known, row.offset)] >= row.timestamp
        if stale:
            yield One("stale-time-index", (row.op,))


def replicas(log: Log) -> Iterator[One]:
    if not log.batches:
        return
    batches: dict[int, dict[str, tuple[int, int, int]]] = defaultdict(dict)
    for batch in log.batches:
        batches[batch.base_offset][batch.node] = (batch.last_offset, batch.leader_epoch, batch.crc)
    nodes = {batch.node for batch in log.batches}
    high = min((batch.high_watermark for batch in log.batches if batch.high_watermark is not None), default=log.end)
    low, name = log.log_start, "replica-divergence"
    if log.place[0] == METADATA_TOPIC:
        first = [min(batch.base_offset for batch in log.batches if batch.node == node) for node in nodes]
        low, name = max(low, *first), "metadata-divergence"
    for base, found in batches.items():
        if high is not None and low <= base < high and (found.keys() != nodes or len(set(found.values())) > 1):
            yield One(name, (base,))


CHECKS = (delivery, lost_after_read, offsets, order_inside_operations, order_of_polls, order_of_sends, reordered, look_ups, replicas)


def _step(before: int | None, now: int | None) -> int:
    """Places gone forward; one, as it should be, where one of them is unknown."""
    return 1 if before is None or now is None else now - before
