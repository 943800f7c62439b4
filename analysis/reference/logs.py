"""A run as plain Python objects: every row, the rows of each topic-partition, and what is known of its log.

Everything the definitions speak of is here once, under their words: what lies where, which operations are committed, which place an
offset or a value has, what the final read and the dumps gave. The checks are short because of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from harness.history.beside import Batch, Event, Fault, Final, Record, read_rows, read_table
from harness.history.plan import Plan, read_plan
from harness.history.readers import open_history
from harness.history.schema import Phase

Rules = Literal["highwater", "jepsen"]
TopicPart = tuple[str, int]


class Row(NamedTuple):
    """One micro-operation; words are words."""

    op: int
    micro: int
    process: int
    producer: int | None
    kind: str
    f: str
    outcome: str
    error: str | None
    phase: int
    invoked: int
    completed: int | None
    topic: str | None
    part: int | None
    key: int | None
    value: int | None
    offset: int | None
    timestamp: int | None


class Dumped(NamedTuple):
    """A batch in one replica's log."""

    node: str
    topic: str
    part: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    high_watermark: int | None


class Stored(NamedTuple):
    """A record in a replica's log."""

    topic: str
    part: int
    value: int | None


@dataclass
class Log:
    """All that is known of one topic-partition. `rows` are in the order of operation and micro-operation."""

    place: TopicPart
    rules: Rules
    rows: list[Row] = field(default_factory=list)
    finals: list[Final] = field(default_factory=list)
    dumped: set[int | None] = field(default_factory=set)
    batches: list[Dumped] = field(default_factory=list)
    committed: set[int] = field(default_factory=set)

    @cached_property
    def sends(self) -> list[Row]:
        return [row for row in self.rows if row.f == "send" and row.value is not None]

    @cached_property
    def polls(self) -> list[Row]:
        """Those that gave something; a partition polled as empty did not."""
        return [row for row in self.rows if row.f == "poll" and (row.offset is not None or row.value is not None)]

    @cached_property
    def writer(self) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for row in self.sends:
            assert row.value is not None
            found.setdefault(row.value, row)
        return found

    @cached_property
    def ok_reads(self) -> set[int]:
        return {row.value for row in self.polls if row.outcome == "ok" and row.value is not None}

    @cached_property
    def polled_at(self) -> dict[int, set[int]]:
        """Offset -> values, of polls of any outcome."""
        found: dict[int, set[int]] = defaultdict(set)
        for row in self.polls:
            if row.offset is not None and row.value is not None:
                found[row.offset].add(row.value)
        return found

    @cached_property
    def acknowledged_at(self) -> dict[int, set[int]]:
        """Offset -> values, of what committed operations were told."""
        found: dict[int, set[int]] = defaultdict(set)
        for row in self.sends:
            if row.offset is not None and row.value is not None and row.op in self.committed:
                found[row.offset].add(row.value)
        return found

    @cached_property
    def values_at(self) -> dict[int, set[int]]:
        return {
            offset: self.polled_at.get(offset, set()) | self.acknowledged_at.get(offset, set())
            for offset in self.polled_at.keys() | self.acknowledged_at.keys()
        }

    @cached_property
    def offsets_of(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for offset, values in self.values_at.items():
            for value in values:
                found[value].add(offset)
        return found

    @cached_property
    def order(self) -> list[tuple[int, int]]:
        """Offset and value of each place. An offset with several values belongs to the smallest."""
        return [(offset, min(self.values_at[offset])) for offset in sorted(self.values_at)]

    @cached_property
    def place_of_offset(self) -> dict[int, int]:
        return {offset: place for place, (offset, _) in enumerate(self.order)}

    @cached_property
    def first_place(self) -> dict[int, int]:
        return {value: place for place, (_, value) in reversed(list(enumerate(self.order)))}

    @cached_property
    def last_place(self) -> dict[int, int]:
        return {value: place for place, (_, value) in enumerate(self.order)}

    def sent_place(self, row: Row) -> int | None:
        """Of a value as something sent."""
        places = self.last_place if self.rules == "jepsen" else self.first_place
        return None if row.value is None else places.get(row.value)

    def polled_place(self, row: Row) -> int | None:
        if self.rules == "jepsen":
            return None if row.value is None else self.last_place.get(row.value)
        return None if row.offset is None else self.place_of_offset.get(row.offset)

    def has_order(self, poll: Row) -> bool:
        return (poll.value if self.rules == "jepsen" else poll.offset) is not None

    @cached_property
    def ordered_polls(self) -> list[Row]:
        return [row for row in self.polls if self.has_order(row)]

    @cached_property
    def log_start(self) -> int:
        return max((final.log_start for final in self.finals), default=0)

    @cached_property
    def end(self) -> int | None:
        return max((final.end for final in self.finals), default=None)

    @cached_property
    def final_read(self) -> set[int | None] | None:
        """None where it did not reach the end."""
        if all(final.completed is None for final in self.finals):
            return None
        return {row.value for row in self.polls if row.outcome == "ok" and row.phase == Phase.FINAL}

    def was_deleted(self, value: int) -> bool:
        """By retention: where it lay last is before the log start."""
        return max(self.offsets_of.get(value, ()), default=self.log_start) < self.log_start


@dataclass
class Run:
    plan: Plan
    rows: list[Row]
    logs: dict[TopicPart, Log]
    committed: set[int]
    events: list[Event]
    faults: list[Fault]


def read_run(path: Path, rules: Rules) -> Run:
    rows = sorted(_read_history(path), key=lambda row: (row.op, row.micro))
    logs: dict[TopicPart, Log] = {}

    def log_of(topic: str, part: int) -> Log:
        if (topic, part) not in logs:
            logs[topic, part] = Log((topic, part), rules)
        return logs[topic, part]

    for row in rows:
        if row.topic is not None and row.part is not None:
            log_of(row.topic, row.part).rows.append(row)
    for final in read_rows(path, Final):
        log_of(final.topic, final.part).finals.append(final)
    for record in _columns(path, Record, Stored):
        log_of(record.topic, record.part).dumped.add(record.value)
    for batch in _columns(path, Batch, Dumped):
        log_of(batch.topic, batch.part).batches.append(batch)
    committed = _committed(logs.values())
    for log in logs.values():
        log.committed = committed
    return Run(read_plan(path), rows, logs, committed, read_rows(path, Event), read_rows(path, Fault))


def _committed(logs: Iterable[Log]) -> set[int]:
    """Ok operations that sent, and info ones of which an ok operation read a value."""
    return {row.op for log in logs for row in log.sends if row.outcome == "ok" or (row.outcome == "info" and row.value in log.ok_reads)}


AnyTuple = TypeVar("AnyTuple", Dumped, Stored)


def _columns(path: Path, kind: type[Batch | Record], form: type[AnyTuple]) -> Iterable[AnyTuple]:
    """Dumps are as long as the history: tuples of the columns that are needed."""
    table = read_table(path, kind)
    return () if table is None else map(form._make, zip(*(table[name].to_pylist() for name in form._fields), strict=True))


def _read_history(path: Path) -> Iterable[Row]:
    history = open_history(path)
    table = history.read_all(Row._fields)
    columns = []
    for name in Row._fields:
        numbers = table[name].to_pylist()
        words = history.names.get(name)
        columns.append(numbers if words is None else [None if number is None else words[number] for number in numbers])
    return map(Row._make, zip(*columns, strict=True))
