"""A consumer whose every step is recorded: assign, poll, seek, look-up by time.

A poll that met an error reads nothing: the client goes back to the first offset it read in it, so that the position moves with `ok` alone.
Where it is not known where the client stands, the operation ends as `info` and the reader goes on as a new process with a
new client. A message that is damaged is no error of the poll but a finding, recorded at its offset; reading goes on behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from harness.history.recorder import Polled
from harness.history.schema import CORRUPT, Outcome
from workloads.clients import new_consumer
from workloads.rotation import Place
from workloads.session import Session

MakeConsumer = Callable[[str], Consumer]

_NOWHERE = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION})
"""The partition does not have the offset where we stand; the client stops reading it."""


@dataclass(slots=True)
class PollResult:
    """`ends`: where the client says a partition ends. `nowhere`: partitions to be assigned anew."""

    messages: list[Polled] = field(default_factory=list)
    ends: dict[Place, int] = field(default_factory=dict)
    nowhere: set[Place] = field(default_factory=set)
    error: str | None = None


class Reader:
    """One operation at a time. Invariant: between operations the client stands at `position` in every assigned partition."""

    def __init__(self, session: Session, make: MakeConsumer | None = None, *, tell_ends: bool = False) -> None:
        self._session, self._tell_ends = session, tell_ends
        self._make = make or self._new_consumer
        self.polls = Counter({outcome.name.lower(): 0 for outcome in Outcome})
        self.messages = 0
        self.position: dict[Place, int] = {}
        self.process, self._consumer = self._new_client()

    def assign(self, wanted: Mapping[Place, int]) -> None:
        """Read these; those assigned already go on where they stand, the others begin at the offset given."""
        new = {place: self.position.get(place, offset) for place, offset in wanted.items()}
        dropped = [place for place in self.position if place not in new]
        op, invoked = next(self._session.ops), self._session.now()
        outcome, error = Outcome.OK, None
        try:
            self._consumer.assign([TopicPartition(topic, part, offset) for (topic, part), offset in new.items()])
        except KafkaException as problem:
            outcome, error = Outcome.INFO, _name(problem)
        now = self._session.now()
        self._session.recorder.assigned(self.process, op, new, dropped, invoked, now, outcome=outcome, error=error)
        self.position = new
        if error:
            self._begin_anew()

    def poll(self, most: int, timeout: float) -> PollResult:
        op, invoked = next(self._session.ops), self._session.now()
        result = PollResult()
        try:
            got = self._consumer.consume(most, timeout)
        except (KafkaException, RuntimeError) as problem:
            result.error = _name(problem)
            self._record_poll(op, invoked, result, Outcome.INFO)
            self._begin_anew()
            return result
        for message in got:
            self._take(message, result)
        if result.error is None:
            self._advance(result)
            self._record_poll(op, invoked, result, Outcome.OK)
        else:
            self._record_poll(op, invoked, result, Outcome.FAIL)
            self._rewind(result)
        return result

    def seek(self, place: Place, offset: int) -> bool:
        """Whether the client took it. It refuses, without effect, where it has not begun to read the partition."""
        op, invoked = next(self._session.ops), self._session.now()
        outcome, error = Outcome.OK, None
        try:
            self._consumer.seek(TopicPartition(*place, offset))
        except KafkaException as problem:
            refused = problem.args[0].code() == KafkaError._STATE
            outcome, error = Outcome.FAIL if refused else Outcome.INFO, _name(problem)
        self._session.recorder.seek(self.process, op, *place, offset, outcome, error, invoked, self._session.now())
        if outcome is Outcome.OK:
            self.position[place] = offset
        elif outcome is Outcome.INFO:
            self._begin_anew()
        return outcome is Outcome.OK

    def lookup(self, place: Place, timestamp: int) -> None:
        """The first offset at or after a time. It changes nothing, so without an answer it has failed."""
        op, invoked = next(self._session.ops), self._session.now()
        offset, outcome, error = None, Outcome.OK, None
        try:
            timeout = self._session.plan.clients.request_timeout_ms / 1000
            (found,) = self._consumer.offsets_for_times([TopicPartition(*place, timestamp)], timeout=timeout)
            offset = found.offset if found.offset >= 0 else None
            if found.error:
                offset, outcome, error = None, Outcome.FAIL, found.error.name()
        except KafkaException as problem:
            outcome, error = Outcome.FAIL, _name(problem)
        self._session.recorder.lookup(self.process, op, *place, timestamp, offset, outcome, error, invoked, self._session.now())

    def close(self) -> None:
        self._consumer.close()

    def _new_client(self) -> tuple[int, Consumer]:
        process = next(self._session.processes)
        return process, self._make(f"{self._session.plan.run_id}-reader-{process}")

    def _begin_anew(self) -> None:
        self._consumer.close()
        self.position = {}
        self.process, self._consumer = self._new_client()

    def _take(self, message: Message, result: PollResult) -> None:
        error = message.error()
        topic, part, offset = message.topic() or "", message.partition() or 0, message.offset()
        if error is None:
            kind, timestamp = message.timestamp()
            key, value, bad = self._session.payloads.verify(message.value(), message.key(), topic, part)
            polled = Polled(topic, part, offset, key, value, timestamp if kind else None, message.leader_epoch(), bad)
            result.messages.append(polled)
        elif error.code() == KafkaError._PARTITION_EOF:
            result.ends[topic, part] = offset or 0
        elif error.code() == KafkaError._BAD_MSG and offset is not None and offset >= 0:
            result.messages.append(Polled(topic, part, offset, error=CORRUPT))
        else:
            result.error = error.name()
            if error.code() in _NOWHERE:
                result.nowhere.add((topic, part))

    def _record_poll(self, op: int, invoked: int, result: PollResult, outcome: Outcome) -> None:
        now = self._session.now()
        self._session.recorder.polled(self.process, op, result.messages, invoked, now, outcome=outcome, error=result.error)
        self.polls[outcome.name.lower()] += 1
        self.messages += len(result.messages)

    def _advance(self, result: PollResult) -> None:
        known = self._session.known
        for topic, part, offset, *_ in result.messages:
            place, at = (topic, part), offset or 0
            self.position[place] = at + 1
            if at > known.get(place, -1):
                known[place] = at

    def _rewind(self, result: PollResult) -> None:
        first: dict[Place, int] = {}
        for topic, part, offset, *_ in result.messages:
            first.setdefault((topic, part), offset or 0)
        for place, offset in first.items():
            process = self.process
            if place not in result.nowhere and not self.seek(place, offset):
                if process == self.process:
                    self._begin_anew()
                return

    def _new_consumer(self, name: str) -> Consumer:
        return new_consumer(self._session.plan.bootstrap, self._session.plan.clients, name, tell_ends=self._tell_ends)


def _name(problem: Exception) -> str:
    error = problem.args[0] if problem.args else None
    return error.name() if isinstance(error, KafkaError) else type(problem).__name__
