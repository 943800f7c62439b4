"""The straightforward checker: every row in memory, dictionaries and a loop, as one writes it in an afternoon."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from harness.bench.checkers.passes import Counts, arguments, time_passes
from harness.bench.checkers.read_floor import COLUMNS
from harness.history.beside import Final, read_rows
from harness.history.readers import open_history
from harness.history.schema import Function, Outcome, Phase

Place = tuple[int, int]


def check(run: Path) -> Counts:
    complete = {final.part for final in read_rows(run, Final) if final.completed is not None}
    sends: dict[Place, tuple[int, int, tuple[int, int]]] = {}
    offsets: dict[Place, set[int]] = defaultdict(set)
    values: dict[Place, set[int]] = defaultdict(set)
    ok_reads: dict[Place, int] = defaultdict(int)
    finally_read: set[Place] = set()
    polled: set[Place] = set()
    told: list[tuple[int, int, int]] = []

    history = open_history(run)
    for bucket in history.filled_buckets():
        table = history.read(bucket, COLUMNS)
        for part, f, outcome, phase, op, producer, key, value, offset in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True):
            if value is None:
                continue
            if f == Function.SEND:
                sends[part, value] = (outcome, op, (producer, key))
                if offset is not None:
                    told.append((part, value, offset))
            elif f == Function.POLL and offset is not None:
                polled.add((part, value))
                offsets[part, value].add(offset)
                values[part, offset].add(value)
                if outcome == Outcome.OK:
                    ok_reads[part, value] += 1
                    if phase == Phase.FINAL:
                        finally_read.add((part, value))
    for part, value, offset in told:
        outcome = sends[part, value][0]
        if outcome == Outcome.OK or (outcome == Outcome.INFO and (part, value) in ok_reads):
            offsets[part, value].add(offset)
            values[part, offset].add(value)
    return {
        "lost": sum(
            outcome == Outcome.OK and place[0] in complete and place not in finally_read for place, (outcome, _, _) in sends.items()
        ),
        "duplicate": sum(len(found) > 1 for found in offsets.values()),
        "G1a": sum(count for place, count in ok_reads.items() if place in sends and sends[place][0] == Outcome.FAIL),
        "phantom": sum(place not in sends for place in polled),
        "inconsistent-offsets": sum(len(found) > 1 for found in values.values()),
        "reordered": _reordered(sends, offsets),
    }


def _reordered(sends: dict[Place, tuple[int, int, tuple[int, int]]], offsets: dict[Place, set[int]]) -> int:
    highest: dict[tuple[int, tuple[int, int]], int] = {}
    count = 0
    for (part, value), (outcome, _, client) in sorted(sends.items(), key=lambda item: item[1][1]):
        if outcome == Outcome.FAIL or not (found := offsets.get((part, value))):
            continue
        first, before = min(found), highest.get((part, client), -1)
        count += first < before
        highest[part, client] = max(first, before)
    return count


if __name__ == "__main__":
    given = arguments()
    time_passes("core", lambda: check(given.run), given.passes)
