"""A producer and every send given to it: recorded before it is made, completed by its delivery report, never forgotten.

Delivery reports are served by a thread of the client's own, so that the time of a report is the time it came. A fatal error (idempotence
lost its thread) ends the client: what is under way is flushed, the instance is closed, and whoever owns it makes another with a new number.

Hot path: one `send` and one `_delivered` a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from threading import Event, Thread

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from harness.history.schema import Outcome
from workloads.clients import is_fatal, new_producer
from workloads.outcomes import QUEUE_FULL, REFUSED, KnownOffsets, outcome_of_report
from workloads.payload import key_bytes
from workloads.rotation import Place
from workloads.session import Session

MakeProducer = Callable[[str, Callable[[KafkaError], None]], Producer]

_POLL_S = 0.1
_AFTER_PURGE_S = 5.0


class SendingClient:
    """Invariant: of `sent` sends each ends once, in `refused` (the caller's thread) or in `reported` (the client's own thread)."""

    def __init__(self, session: Session, make: MakeProducer | None = None) -> None:
        self.number = next(session.producers)
        self.sent = self.refused = self.acknowledged = self.failed = self.unknown = 0
        self._session = session
        self._settings = session.plan.clients
        self._retries = self._settings.retries > 0
        self._unacknowledged = self._settings.acks == "0"
        self._offsets = KnownOffsets()
        self.fatal = Event()
        """Set by an error after which the client takes nothing more."""
        self._stopping = Event()
        self._failure: BaseException | None = None
        name = f"{session.plan.run_id}-producer-{self.number}"
        self._producer = (make or self._make)(name, self._on_error)
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def outstanding(self) -> int:
        return self.sent - self.refused - self.reported

    @property
    def reported(self) -> int:
        return self.acknowledged + self.failed + self.unknown

    @property
    def usable(self) -> bool:
        return not self.fatal.is_set()

    @property
    def ended(self) -> bool:
        """Flushed and closed."""
        return not self._thread.is_alive()

    def send(self, process: int, place: Place, key: int | None, intended: int | None) -> None:
        session = self._session
        topic, part = place
        value = next(session.values)
        payload = session.payloads.make(topic, part, key, value)
        op, now = next(session.ops), session.now()
        slot = session.recorder.invoke_send(process, self.number, op, 0, topic, part, key, value, intended, now)
        self.sent += 1
        try:
            self._producer.produce(topic, payload, key_bytes(key), part, on_delivery=partial(self._delivered, slot, place))
        except BufferError:
            self._refused(slot, QUEUE_FULL)
        except KafkaException as problem:
            self._refused(slot, problem.args[0].name())
            self._on_error(problem.args[0])

    def stop(self) -> None:
        """Send what is queued, for as long as a delivery may take, then end; `join` waits for it."""
        self._stopping.set()

    def join(self) -> None:
        self._thread.join()
        if self._failure:
            raise self._failure

    def check(self) -> None:
        """Raise what went wrong in the client's thread."""
        if self._failure:
            raise self._failure

    def _refused(self, slot: int, error: str) -> None:
        self._session.recorder.complete(slot, REFUSED, error, None, None, None, self._session.now())
        self.refused += 1

    def _delivered(self, slot: int, place: Place, error: KafkaError | None, message: Message) -> None:
        now = self._session.now()
        if error is None:
            offset = None if self._unacknowledged else self._offsets.of(place, message.offset())
            kind, timestamp = message.timestamp()
            self._session.recorder.complete(slot, Outcome.OK, None, offset, timestamp if kind else None, None, now)
            if offset is not None and offset > self._session.known.get(place, -1):
                self._session.known[place] = offset
            self.acknowledged += 1
            return
        outcome = outcome_of_report(error.code(), retries=self._retries)
        self._session.recorder.complete(slot, outcome, error.name(), None, None, None, now)
        if outcome is Outcome.FAIL:
            self.failed += 1
        else:
            self.unknown += 1
        self._on_error(error)

    def _on_error(self, error: KafkaError) -> None:
        if is_fatal(error):
            self.fatal.set()

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set() and not self.fatal.is_set():
                self._poll()
            self._finish()
        except BaseException as failure:
            self._failure = failure

    def _finish(self) -> None:
        """librdkafka ends every message by its delivery time-out; what it did not is purged, so that it is reported all the same."""
        if not self._drained(self._settings.delivery_timeout_ms / 1000 + _AFTER_PURGE_S):
            self._producer.purge()
            self._drained(_AFTER_PURGE_S)

    def _drained(self, wait_s: float) -> bool:
        """By polls. `flush` would go on to the next report after it met a fatal error, with the exception pending: that report fails."""
        deadline = time.monotonic() + wait_s
        while len(self._producer) and time.monotonic() < deadline:
            self._poll()
        return not len(self._producer)

    def _poll(self) -> None:
        """The call that happens to serve a fatal error raises it, once, and not always is the callback told as well."""
        try:
            self._producer.poll(_POLL_S)
        except KafkaException as problem:
            self._on_error(problem.args[0])
            if not self.fatal.is_set():
                raise

    def _make(self, name: str, on_error: Callable[[KafkaError], None]) -> Producer:
        return new_producer(self._session.plan.bootstrap, self._settings, name, on_error)
