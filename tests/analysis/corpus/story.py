"""Histories written by hand: each call is one operation of one client, and the story becomes the folder of a run.

    h = Story(acks="1")
    h.send(1, 10, offset=0)                     # process 1 sends value 10 and is told offset 0
    read = h.poll(2, (0, 10), (2, 12))          # process 2 polls: offset 0 has value 10, offset 2 has 12
    h.expect("phantom", 12)

Unless said otherwise everything is about topic `t`, partition 0, and one operation is over before the next begins: a hundredth of a second
each. The trap: then real time orders them all, so a circle is easily one of real time as well; `together` lets operations overlap.
Times are seconds. What is expected is told with the story, all of it, and by which rules where they differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from analysis.anomalies import ANOMALIES
from harness.history.beside import PROVEN, Batch, Event, Fault, Final, Operation, Record, write_rows
from harness.history.files import history_directory
from harness.history.plan import Plan, Promises, write_plan
from harness.history.recorder import Recorder
from harness.history.schema import Function, Kind, Outcome, Phase
from harness.history.stalls import EVENT

OK, FAIL, INFO = Outcome.OK, Outcome.FAIL, Outcome.INFO
TOPIC = "t"
STEP = 0.01
FINAL_READER = 900
"""Processes from here on read finally."""

Rules = Literal["highwater", "jepsen"]
BOTH: tuple[Rules, ...] = ("highwater", "jepsen")
Instance = tuple[str | int | None, ...]
"""Topic and partition (both none where the anomaly is across), then the numbers of its identity."""
Found = dict[str, set[Instance]]


@dataclass(frozen=True, slots=True)
class Micro:
    """One row of an operation."""

    f: Function
    part: int = 0
    topic: str = TOPIC
    value: int | None = None
    offset: int | None = None
    key: int | None = None
    timestamp: int | None = None
    error: str | None = None


def sent(value: int, offset: int | None = None, part: int = 0, topic: str = TOPIC, key: int | None = None) -> Micro:
    return Micro(Function.SEND, part, topic, value, offset, key)


def got(offset: int, value: int | None, part: int = 0, topic: str = TOPIC, timestamp: int | None = None, error: str | None = None) -> Micro:
    return Micro(Function.POLL, part, topic, value, offset, None, timestamp, error)


def empty(part: int = 0, topic: str = TOPIC) -> Micro:
    """The partition was polled and nothing came."""
    return Micro(Function.POLL, part, topic)


def ended(offset: int, part: int = 0, topic: str = TOPIC) -> Micro:
    """The partition ends here: the next message will have this offset."""
    return Micro(Function.END, part, topic, offset=offset)


def rebalanced(part: int = 0, topic: str = TOPIC) -> Micro:
    return Micro(Function.REBALANCE, part, topic)


Polled = Micro | tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class _Op:
    op: int
    process: int
    kind: Kind
    outcome: Outcome
    phase: Phase
    invoked: int
    completed: int | None
    micros: tuple[Micro, ...]
    producer: int | None = None


@dataclass(slots=True)
class Expected:
    """What a checker has to find by one set of rules, no more and no less. `doubtful` is a part of `found`."""

    found: Found = field(default_factory=dict)
    doubtful: Found = field(default_factory=dict)

    def add(self, name: str, instance: Instance, doubtful: bool) -> None:
        self.found.setdefault(name, set()).add(instance)
        if doubtful:
            self.doubtful.setdefault(name, set()).add(instance)


class Story:
    """Operations are numbered 1, 2, 3… in the order told; each call answers the number. Keyword arguments here are promises."""

    def __init__(self, **promises: Any) -> None:
        self.promises = Promises(**({"acks": "all", "assignment": "assign"} | promises))
        self.settings: dict[str, Any] = {}
        self.expected: dict[Rules, Expected] = {rules: Expected() for rules in BOTH}
        self._ops: list[_Op] = []
        self._clock = 0.0
        self._frozen: tuple[float, float] | None = None
        self._assigned: dict[int, set[tuple[str, int]]] = {}
        self._finals: list[Final] = []
        self._batches: list[Batch] = []
        self._records: list[Record] = []
        self._events: list[Event] = []
        self._faults: list[Fault] = []

    # What clients do.

    def send(
        self,
        process: int,
        value: int,
        offset: int | None = None,
        outcome: Outcome = OK,
        *,
        part: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        producer: int | None = None,
        at: float | None = None,
        until: float | None = None,
        error: str | None = None,
        never_ends: bool = False,
    ) -> int:
        """`producer` is the process unless given. One that never ends has the outcome info."""
        micro = Micro(Function.SEND, part, topic, value, offset, key, error=error)
        return self._op(process, Kind.SEND, [micro], INFO if never_ends else outcome, at, until, never_ends, producer=producer or process)

    def sends(self, process: int, *micros: Micro, outcome: Outcome = OK) -> int:
        """Several in one operation, without a transaction."""
        return self._op(process, Kind.SEND, micros, outcome, producer=process)

    def poll(
        self,
        process: int,
        *messages: Polled,
        outcome: Outcome = OK,
        phase: Phase = Phase.RUN,
        at: float | None = None,
        until: float | None = None,
    ) -> int:
        """Pairs are (offset, value). Of nothing: a row without a partition."""
        micros = [message if isinstance(message, Micro) else got(*message) for message in messages]
        return self._op(process, Kind.POLL, micros, outcome, at, until, phase=phase)

    def txn(
        self,
        process: int,
        *micros: Micro,
        outcome: Outcome = OK,
        at: float | None = None,
        until: float | None = None,
        never_ends: bool = False,
    ) -> int:
        return self._op(process, Kind.TXN, micros, INFO if never_ends else outcome, at, until, never_ends, producer=process)

    def assign(self, process: int, *parts: int, outcome: Outcome = OK, topic: str = TOPIC, subscribe: bool = False) -> int:
        """The whole new set; what was assigned and is not in it is forgotten, if the operation may have taken effect."""
        kept, before = {(topic, part) for part in parts}, self._assigned.get(process, set())
        rows = [Micro(Function.KEEP, part, topic) for topic, part in sorted(kept)]
        rows += [Micro(Function.FORGET, part, topic) for topic, part in sorted(before - kept)]
        if outcome is not FAIL:
            self._assigned[process] = kept
        return self._op(process, Kind.SUBSCRIBE if subscribe else Kind.ASSIGN, rows, outcome)

    def seek(self, process: int, offset: int, outcome: Outcome = OK, part: int = 0, topic: str = TOPIC) -> int:
        return self._op(process, Kind.SEEK, [Micro(Function.SEEK, part, topic, offset=offset)], outcome)

    def lookup(self, process: int, timestamp: int, offset: int | None, outcome: Outcome = OK, part: int = 0) -> int:
        """Asked for a time, answered an offset."""
        return self._op(process, Kind.LOOKUP, [Micro(Function.LOOKUP, part, TOPIC, offset=offset, timestamp=timestamp)], outcome)

    def crash(self, process: int) -> int:
        return self._op(process, Kind.CRASH, [Micro(Function.CRASH)], INFO)

    def final_read(
        self, *messages: Polled, part: int = 0, topic: str = TOPIC, log_start: int = 0, end: int | None = None, complete: bool = True
    ) -> int | None:
        """A new process reads the partition once more, in one poll. Its end is behind the last message unless given."""
        micros = [message if isinstance(message, Micro) else got(message[0], message[1], part, topic) for message in messages]
        process = FINAL_READER + len(self._finals)
        offsets = [micro.offset for micro in micros if micro.offset is not None]
        reported = end if end is not None else max(offsets, default=log_start - 1) + 1
        began = _ns(self._clock)
        op = self.poll(process, *micros, phase=Phase.FINAL) if micros else None
        now = _ns(self._clock)
        self._finals.append(Final(topic, part, log_start, reported, max(offsets, default=None), process, began, now if complete else None))
        return op

    def now(self, at: float) -> None:
        """What is told next happens at this time."""
        self._clock = at

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is told inside happens at the same time."""
        self._frozen = (self._clock, self._clock + STEP / 2)
        yield
        self._frozen = None
        self._clock += STEP

    # What happened around them.

    def replica(self, node: str, *batches: Sequence[int], high_watermark: int | None, part: int = 0, topic: str = TOPIC) -> None:
        """A dumped log: base offset, last offset, epoch and crc of each batch."""
        for base, last, epoch, crc in batches:
            end = batches[-1][1] + 1
            self._batches.append(Batch(node, topic, part, base, last, epoch, crc, -1, -1, -1, 100, high_watermark, end))

    def dump(self, node: str, *records: tuple[int, int | None], part: int = 0, topic: str = TOPIC) -> None:
        """Offset and value of each record in one replica's log."""
        self._records += [Record(node, topic, part, offset, value) for offset, value in records]

    def fault(self, fault: str, targets: Sequence[str], start: float | None, end: float | None, state: str = PROVEN) -> None:
        begins, ends = (None if time is None else _ns(time) for time in (start, end))
        self._faults.append(Fault(len(self._faults), fault, "names", list(targets), begins or 0, begins, ends, "{}", "{}", state))

    def event(self, event: str, at: float | None, node: str = "n1", part: int | None = None) -> None:
        self._events.append(Event(None if at is None else _ns(at), node, event, None if part is None else TOPIC, part))

    def stall(self, start: float, end: float) -> None:
        """The harness itself could not run."""
        self._events.append(Event(_ns(start), "worker-1", EVENT, detail=json.dumps({"end": _ns(end)})))

    # What there is to find.

    def expect(
        self, name: str, *identity: int | None, part: int = 0, topic: str = TOPIC, rules: Rules | None = None, doubtful: bool = False
    ) -> None:
        """Exactly this one, among the others that are expected. By both rules unless one is named."""
        anomaly = ANOMALIES[name]
        assert len(identity) == len(anomaly.identity), f"{name} is told by {', '.join(anomaly.identity)}"
        instance = ((None, None) if anomaly.across else (topic, part)) + identity
        for each in BOTH if rules is None else (rules,):
            self.expected[each].add(name, instance, doubtful)

    def write(self, run: Path) -> None:
        """The folder of a run; nothing waits for the disk."""
        with patch("harness.history.files.sync"):
            self._write(run)

    def _write(self, run: Path) -> None:
        """Two workers record, so that names are numbered twice."""
        history_directory(run).mkdir(parents=True)
        write_plan(run, Plan(1, self.promises, scenario={"settings": self.settings}))
        for worker in (0, 1):
            if mine := [op for op in self._ops if op.process % 2 == worker]:
                with Recorder(run, worker, segment_slots=sum(max(1, len(op.micros)) for op in mine) + 1) as recorder:
                    for op in mine:
                        _record(recorder, op)
        wide = [
            Operation(op.op, op.process, op.outcome, op.invoked, op.completed, len(parts))
            for op in self._ops
            if len(parts := _parts(op)) > 1
        ]
        for kind, rows in (
            (Operation, wide),
            (Final, self._finals),
            (Batch, self._batches),
            (Record, self._records),
            (Event, self._events),
            (Fault, self._faults),
        ):
            if rows:
                write_rows(run, kind, rows)

    def _op(
        self,
        process: int,
        kind: Kind,
        micros: Sequence[Micro],
        outcome: Outcome,
        at: float | None = None,
        until: float | None = None,
        never_ends: bool = False,
        phase: Phase = Phase.RUN,
        producer: int | None = None,
    ) -> int:
        if self._frozen is None:
            begins = self._clock if at is None else at
            ends = begins + STEP / 2 if until is None else until
            self._clock = max(self._clock, (begins if never_ends else ends) + STEP / 2)
        else:
            begins, ends = self._frozen
        op = len(self._ops) + 1
        completed = None if never_ends else _ns(ends)
        self._ops.append(_Op(op, process, kind, outcome, phase, _ns(begins), completed, tuple(micros), producer))
        return op


def _record(recorder: Recorder, op: _Op) -> None:
    recorder.phase = op.phase
    if not op.micros:
        assert op.completed is not None
        recorder.polled(op.process, op.op, [], op.invoked, op.completed, outcome=op.outcome)
    for number, micro in enumerate(op.micros):
        if op.completed is None:
            assert micro.f is Function.SEND and micro.value is not None and op.producer is not None
            recorder.invoke_send(
                op.process, op.producer, op.op, number, micro.topic, micro.part, micro.key, micro.value, None, op.invoked, kind=op.kind
            )
            continue
        nowhere = micro.f is Function.CRASH
        recorder.row(
            op.process, op.op, op.kind, micro.f, op.outcome, op.invoked, op.completed,
            micro=number, key=micro.key, value=micro.value, offset=micro.offset, timestamp=micro.timestamp, error=micro.error,
            producer=op.producer if micro.f is Function.SEND else None,
            topic=None if nowhere else micro.topic, part=None if nowhere else micro.part,
        )  # fmt: skip


def _parts(op: _Op) -> set[tuple[str, int]]:
    return {(micro.topic, micro.part) for micro in op.micros} if op.kind in (Kind.SEND, Kind.POLL, Kind.TXN) else set()


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
