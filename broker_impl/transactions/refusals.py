"""Gaps of the broker's own making: what it turned away a moment ago, and so misses when the next batch comes.

A client has several batches under way. If the first is refused for a reason that passes (too few replicas in sync, a
disk that is full, a leader that does not know yet that it leads) and the reason is over when the second is looked at,
the second has a gap before it. To call that out of order would be wrong: librdkafka takes it for lost agreement and
begins a new producer epoch in all its partitions, and what was stored in any of them without being acknowledged is
stored again. Worse where the producer is new and every sequence is welcome: the second is stored, and from its
acknowledgement the client concludes that the first is, too. So what follows a refused batch is refused for the same
reason, until the refused one has come again.
"""

from dataclasses import dataclass

from broker_impl.protocol.errors import ErrorCode
from broker_impl.storage.batch import BatchHeader
from broker_impl.transactions.producers import advance, distance

MOST = 10_000
"""Producers that are remembered; beyond that the one whose refusal is the oldest is forgotten."""
MEMORY_S = 60.0
"""A client that comes back at all comes back sooner: one that does not has given up on the batch."""

PASSING = frozenset(
    (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
"""Said before anything is written, and to a client that will try again."""

_Producer = tuple[str, int, int]
"""Topic, partition, producer id."""


@dataclass(slots=True)
class _Refused:
    """Sequences from `first` up to but without `end` were refused, one batch after the other, the first of them at `at`."""

    epoch: int
    first: int
    end: int
    code: ErrorCode
    at: float


class Refusals:
    """`any`: whether something was refused lately."""

    def __init__(self) -> None:
        self._refused: dict[_Producer, _Refused] = {}
        self.any = False

    def __len__(self) -> int:
        return len(self._refused)

    def note(self, topic: str, index: int, header: BatchHeader, code: ErrorCode, now: float) -> None:
        """This batch was refused."""
        if code not in PASSING or header.producer_id < 0:
            return
        producer = (topic, index, header.producer_id)
        known = self._refused.get(producer)
        end = advance(header.base_sequence, header.last_delta + 1)
        if known is not None and known.epoch == header.producer_epoch and self._follows(known, header.base_sequence):
            known.end = end if distance(known.end, end) > 0 else known.end
            return
        self._refused.pop(producer, None)
        self.any = True
        self._refused[producer] = _Refused(header.producer_epoch, header.base_sequence, end, code, now)
        if len(self._refused) > MOST:
            del self._refused[next(iter(self._refused))]

    def reason(self, topic: str, index: int, header: BatchHeader, expected: int | None, now: float) -> ErrorCode | None:
        """Why to refuse this batch, if what is missing before it was refused here. `expected`: the sequence that the log
        goes on with; None if it knows nothing of this producer."""
        self._forget(now)
        known = self._refused.get((topic, index, header.producer_id))
        if known is None or known.epoch != header.producer_epoch:
            return None
        missing = known.first if expected is None else expected
        was_refused = distance(known.first, missing) >= 0 and distance(missing, known.end) > 0
        return known.code if was_refused and distance(missing, header.base_sequence) > 0 else None

    def _follows(self, known: _Refused, sequence: int) -> bool:
        """Behind the first one: that one itself begins the count anew."""
        return distance(known.first, sequence) > 0 and distance(sequence, known.end) >= 0

    def _forget(self, now: float) -> None:
        while self._refused:
            oldest = next(iter(self._refused))
            if now - self._refused[oldest].at <= MEMORY_S:
                return
            del self._refused[oldest]
        self.any = False
