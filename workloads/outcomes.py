"""What an error says about a send: `fail` if it certainly took no effect, else `info`.

The last error does not tell what an earlier attempt did. With retries on, a message that waits for its next attempt lies in the same
queue as one never tried, and librdkafka purges both, or declares the topic of both unknown, with the same error. So there only a
send that `produce()` itself refused is a `fail`. With retries off an error speaks of the only attempt, and a few say that it was refused.

When in doubt it is `info`: a `fail` that took effect would accuse a sound broker of showing aborted writes. Success with acks=0 means only
that the message was handed to the socket; its offset, like that of a duplicate, is not known (`KnownOffsets`).
"""

from __future__ import annotations

from collections.abc import Hashable

from confluent_kafka import KafkaError

from harness.history.schema import Outcome

QUEUE_FULL = "_QUEUE_FULL"
"""What `produce()` raises as a BufferError, without a name."""

NOT_TRANSMITTED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
"""The client's own words about what lay in its queue."""

REFUSED_BY_BROKER = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
)
"""Checked before anything is appended. NOT_LEADER_FOR_PARTITION is not here: a leader may answer it after it has appended."""

_FAIL_OF_ONLY_ATTEMPT = NOT_TRANSMITTED | REFUSED_BY_BROKER


REFUSED = Outcome.FAIL
"""Of a send that `produce()` raised an error about: it never entered the client's queue."""


def outcome_of_report(code: int, *, retries: bool) -> Outcome:
    """Of a send that has its delivery report; code 0 is success."""
    if code == KafkaError.NO_ERROR:
        return Outcome.OK
    return Outcome.FAIL if not retries and code in _FAIL_OF_ONLY_ATTEMPT else Outcome.INFO


class KnownOffsets:
    """Which of the offsets in delivery reports mean something.

    librdkafka counts up from the base offset of a batch even if the broker gave none (a duplicate: -1), so the first message of such a
    batch is reported without an offset, the second at 0. Reports of a partition come in order: what counts on from there is unknown too.
    """

    def __init__(self) -> None:
        self._unknown: dict[Hashable, int] = {}

    def of(self, place: Hashable, offset: int | None) -> int | None:
        if offset is None or offset < 0:
            self._unknown[place] = 0
            return None
        if self._unknown and self._unknown.get(place) == offset:
            self._unknown[place] = offset + 1
            return None
        if self._unknown:
            self._unknown.pop(place, None)
        return offset
