"""The recorder: what a worker's clients do, as it happens, in a form that survives the worker.

A send takes a slot before `produce()` and completes it when the delivery report comes; both are one `pack_into` of mapped memory, no
system call (hot path: `./highwater bench recorder` guards it). Everything else is known when it is over and takes its row whole.
A full segment goes to the background, its open slots move to the next one and keep their numbers for the caller.

Times are ns since the run began and come from the caller. Calls may come from several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import NamedTuple, TypedDict

from harness.history.errors import HistoryError
from harness.history.files import finished_files, names_path, open_directory
from harness.history.journal import Journal
from harness.history.names import Names
from harness.history.schema import DEFAULT_BUCKETS, Function, Kind, Outcome, Phase
from harness.history.slots import (
    ANSWERED_EPOCH,
    ANSWERED_OFFSET,
    ANSWERED_TIMESTAMP,
    COMPLETION,
    GIVEN_GENERATION,
    GIVEN_INTENDED,
    GIVEN_KEY,
    GIVEN_PART,
    GIVEN_PRODUCER,
    GIVEN_VALUE,
    INVOCATION,
    WHOLE,
)

SEGMENT_SLOTS = 1 << 20
TopicPart = tuple[str, int]

_complete_into, _invoke_into, _write_into = COMPLETION.pack_into, INVOCATION.pack_into, WHOLE.pack_into
_SENDING = GIVEN_PRODUCER | GIVEN_PART | GIVEN_VALUE
_F_SEND, _F_POLL = int(Function.SEND), int(Function.POLL)


class Polled(NamedTuple):
    """A message as the client gave it. A bad payload has an `error` and no value. A null offset: a partition polled as empty."""

    topic: str
    part: int
    offset: int | None
    key: int | None = None
    value: int | None = None
    timestamp: int | None = None
    leader_epoch: int | None = None
    error: str | None = None


class Recorder:
    """One a worker, whose number is used once in a run. Every row takes `phase` as it stands."""

    def __init__(self, run: Path, worker: int, *, buckets: int = DEFAULT_BUCKETS, segment_slots: int = SEGMENT_SLOTS) -> None:
        open_directory(run).mkdir(parents=True, exist_ok=True)
        if found := finished_files(run, worker):
            raise HistoryError(f"{found[0]} exists: a worker's number is used once in a run")
        self.phase = Phase.WARM_UP
        self._names = Names(names_path(run, worker))
        self._topics, self._errors = self._names.numbers["topic"], self._names.numbers["error"]
        self._journal = Journal(run, worker, buckets, segment_slots, self._names)
        self._lock = Lock()

    def invoke_send(
        self,
        process: int,
        producer: int,
        op: int,
        micro: int,
        topic: str,
        part: int,
        key: int | None,
        value: int,
        intended: int | None,
        now: int,
        *,
        kind: Kind = Kind.SEND,
    ) -> int:
        """Take the slot of a message that is about to be sent; the answer is for `complete`."""
        given = _SENDING
        if key is None:
            key = 0
        else:
            given |= GIVEN_KEY
        if intended is None:
            intended = 0
        else:
            given |= GIVEN_INTENDED
        with self._lock:
            topic_number = self._topics.get(topic) or self._names.add("topic", topic)
            journal = self._journal
            at = journal.room()
            _invoke_into(
                journal.map, at,
                op, intended, now, key, value, process, producer, micro, part, 0, topic_number, 0, given, _F_SEND, self.phase, kind + 1,
            )  # fmt: skip
            return journal.taken()

    def complete(
        self, slot: int, outcome: Outcome, error: str | None, offset: int | None, timestamp: int | None, leader_epoch: int | None, now: int
    ) -> None:
        """What became of a send, once. A slot that is never completed ends as `info`."""
        answered = 0
        if offset is None:
            offset = 0
        else:
            answered = ANSWERED_OFFSET
        if timestamp is None:
            timestamp = 0
        else:
            answered |= ANSWERED_TIMESTAMP
        if leader_epoch is None:
            leader_epoch = 0
        else:
            answered |= ANSWERED_EPOCH
        with self._lock:
            error_number = 0 if error is None else self._errors.get(error) or self._names.add("error", error)
            at = self._journal.find(slot)
            _complete_into(self._journal.map, at, now, offset, timestamp, leader_epoch, error_number, answered, outcome + 1)

    def polled(
        self,
        process: int,
        op: int,
        messages: Sequence[Polled],
        invoked: int,
        now: int,
        *,
        outcome: Outcome = Outcome.OK,
        error: str | None = None,
        intended: int | None = None,
        group: str | None = None,
        generation: int | None = None,
        kind: Kind = Kind.POLL,
        first_micro: int = 0,
    ) -> None:
        """A row a message; a poll of nothing is a row as well. `error` is the poll's; a message's own comes first."""
        if not messages:
            about = _About(error=error, group=group)
            self.row(process, op, kind, Function.POLL, outcome, invoked, now, intended=intended, generation=generation, **about)
            return
        common = (GIVEN_INTENDED if intended is not None else 0) | (GIVEN_GENERATION if generation is not None else 0) | GIVEN_PART
        with self._lock:
            journal = self._journal
            group_number = self._number("group", group)
            poll_error = self._number("error", error)
            for micro, (topic, part, offset, key, value, timestamp, leader_epoch, bad) in enumerate(messages, first_micro):
                given = common | (GIVEN_KEY if key is not None else 0) | (GIVEN_VALUE if value is not None else 0)
                answered = (
                    (ANSWERED_OFFSET if offset is not None else 0)
                    | (ANSWERED_TIMESTAMP if timestamp is not None else 0)
                    | (ANSWERED_EPOCH if leader_epoch is not None else 0)
                )
                topic_number = self._topics.get(topic) or self._names.add("topic", topic)
                error_number = poll_error if bad is None else self._number("error", bad)
                at = journal.room()
                _write_into(
                    journal.map, at,
                    now, offset or 0, timestamp or 0, leader_epoch or 0, error_number, answered, outcome + 1,
                    op, intended or 0, invoked, key or 0, value or 0, process, 0, micro, part, generation or 0,
                    topic_number, group_number, given, _F_POLL, self.phase, kind + 1,
                )  # fmt: skip
                journal.taken()

    def assigned(
        self,
        process: int,
        op: int,
        keep: Iterable[TopicPart],
        forget: Iterable[TopicPart],
        invoked: int,
        now: int,
        *,
        kind: Kind = Kind.ASSIGN,
        outcome: Outcome = Outcome.OK,
        error: str | None = None,
        group: str | None = None,
        generation: int | None = None,
    ) -> None:
        """An assign or subscribe: the whole new set, and what it dropped."""
        changes = [(Function.KEEP, one) for one in keep] + [(Function.FORGET, one) for one in forget]
        for micro, (f, (topic, part)) in enumerate(changes):
            about = _About(topic=topic, error=error, group=group)
            self.row(process, op, kind, f, outcome, invoked, now, micro=micro, part=part, generation=generation, **about)

    def seek(
        self,
        process: int,
        op: int,
        topic: str,
        part: int,
        offset: int,
        outcome: Outcome,
        error: str | None,
        invoked: int,
        now: int,
    ) -> None:
        about = _About(topic=topic, error=error)
        self.row(process, op, Kind.SEEK, Function.SEEK, outcome, invoked, now, part=part, offset=offset, **about)

    def lookup(
        self,
        process: int,
        op: int,
        topic: str,
        part: int,
        timestamp: int,
        offset: int | None,
        outcome: Outcome,
        error: str | None,
        invoked: int,
        now: int,
    ) -> None:
        """`timestamp` is what was asked, `offset` the answer."""
        about = _About(topic=topic, error=error)
        self.row(process, op, Kind.LOOKUP, Function.LOOKUP, outcome, invoked, now, part=part, offset=offset, timestamp=timestamp, **about)

    def crash(self, process: int, op: int, invoked: int, now: int, *, error: str | None = None) -> None:
        """The process ends here; nothing of it comes after."""
        self.row(process, op, Kind.CRASH, Function.CRASH, Outcome.INFO, invoked, now, error=error)

    def row(
        self,
        process: int,
        op: int,
        kind: Kind,
        f: Function,
        outcome: Outcome,
        invoked: int,
        now: int,
        *,
        micro: int = 0,
        producer: int | None = None,
        intended: int | None = None,
        topic: str | None = None,
        part: int | None = None,
        key: int | None = None,
        value: int | None = None,
        offset: int | None = None,
        timestamp: int | None = None,
        leader_epoch: int | None = None,
        error: str | None = None,
        group: str | None = None,
        generation: int | None = None,
    ) -> None:
        """Any row that is known when it is over."""
        bits = ((GIVEN_PRODUCER, producer), (GIVEN_INTENDED, intended), (GIVEN_PART, part), (GIVEN_KEY, key), (GIVEN_VALUE, value))
        given = _bits(*bits, (GIVEN_GENERATION, generation))
        answered = _bits((ANSWERED_OFFSET, offset), (ANSWERED_TIMESTAMP, timestamp), (ANSWERED_EPOCH, leader_epoch))
        with self._lock:
            topic_number, group_number = self._number("topic", topic), self._number("group", group)
            error_number = self._number("error", error)
            at = self._journal.room()
            _write_into(
                self._journal.map, at,
                now, offset or 0, timestamp or 0, leader_epoch or 0, error_number, answered, outcome + 1,
                op, intended or 0, invoked, key or 0, value or 0, process, producer or 0, micro, part or 0, generation or 0,
                topic_number, group_number, given, f, self.phase, kind + 1,
            )  # fmt: skip
            self._journal.taken()

    def close(self) -> None:
        """Convert everything; what is open ends as `info`. An error leaves the rest for `convert_leftovers`."""
        with self._lock:
            self._journal.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _number(self, column: str, name: str | None) -> int:
        if name is None:
            return 0
        return self._names.numbers[column].get(name) or self._names.add(column, name)


class _About(TypedDict, total=False):
    """The names in a row."""

    topic: str | None
    error: str | None
    group: str | None


def _bits(*of: tuple[int, int | None]) -> int:
    return sum(bit for bit, value in of if value is not None)
