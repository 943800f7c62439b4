"""What makes a retry harmless: the last five batches of every producer in one partition.

A client may have five requests in flight. If their answers are lost it sends all five again, so remembering only
the last one turns four of them into duplicates. A batch that is remembered is answered with the offsets it got the
first time; one that does not follow the last is refused. State that was lost (expired, or cut away with the log)
accepts any sequence: the broker cannot tell a gap from its own forgetting.

A snapshot has one entry a batch, the oldest first. Apache Kafka writes one entry a producer, and of several for one
producer it believes the last; so each reads the other's files, and ours keep the whole window.
"""

import struct
from collections import deque
from typing import NamedTuple

from crc32c import crc32c

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import BatchHeader

WINDOW = 5
EXPIRATION_MS = 24 * 3_600_000

_LAST_SEQUENCE = 2**31 - 1
_SNAPSHOT_VERSION = 1
_PREAMBLE = struct.Struct(">hIi")
_CHECKSUMMED_FROM = 6
_ENTRY = struct.Struct(">qhiqiqiq")
_NO_COORDINATOR = _NO_TRANSACTION = -1


def advance(sequence: int, by: int) -> int:
    """Sequence numbers go from 2^31-1 to 0."""
    return (sequence + by) & _LAST_SEQUENCE


def distance(sequence: int, other: int) -> int:
    """How far the other lies ahead, or behind if that is nearer."""
    ahead = (other - sequence) & _LAST_SEQUENCE
    return ahead if ahead <= _LAST_SEQUENCE // 2 else ahead - _LAST_SEQUENCE - 1


class SnapshotCorrupt(ValueError):
    """Not a whole snapshot: an older one, or the log itself, must be asked."""


class Duplicate(NamedTuple):
    """The batch is in the log already, here."""

    base_offset: int
    last_offset: int
    timestamp: int


class _Batch(NamedTuple):
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class _Producer:
    """Invariant: the batches are of `epoch`, in log order, and `next_sequence` follows the last of them."""

    __slots__ = ("batches", "epoch", "next_sequence", "seen_ms")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[_Batch] = deque(maxlen=WINDOW)
        self.next_sequence = 0
        self.seen_ms: int | None = None

    def add(self, batch: _Batch) -> None:
        self.batches.append(batch)
        self.next_sequence = advance(batch.last_sequence, 1)
        self.seen_ms = None


class ProducerStates:
    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, header: BatchHeader) -> Duplicate | None:
        """Whether a leader may append this batch: None says yes, a BrokerError no. Hot path."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        if header.producer_epoch == producer.epoch:
            if header.base_sequence == producer.next_sequence:
                return None
            return self._known(producer, header)
        if header.producer_epoch < producer.epoch:
            raise BrokerError(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {header.producer_epoch} is older than {producer.epoch}")
        if header.base_sequence != 0:
            raise BrokerError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"a new epoch starts at 0, not at {header.base_sequence}")
        return None

    def expected(self, header: BatchHeader) -> int | None:
        """The sequence with which the producer of this batch has to go on; None where any will do."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        if header.producer_epoch == producer.epoch:
            return producer.next_sequence
        return 0 if header.producer_epoch > producer.epoch else header.base_sequence

    def has_written_since(self, producer_id: int, offset: int) -> bool:
        """Whether a batch of this producer lies at or behind this offset."""
        producer = self._producers.get(producer_id)
        return producer is not None and bool(producer.batches) and producer.batches[-1].base_offset >= offset

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """The batch is in the log at this offset. No questions asked: followers and recovery take what the leader took."""
        producer = self._producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
        first, delta = header.base_sequence, header.last_delta
        producer.add(_Batch(first, advance(first, delta), base_offset, base_offset + delta, header.max_timestamp))

    def expire(self, wall_ms: int) -> int:
        """Forgets who wrote nothing for a day; returns how many.

        Counted from the first call after a producer's last batch, by the clock of the caller: what timestamps a
        client put into its batches must not make the broker forget it."""
        for producer in self._producers.values():
            if producer.seen_ms is None or producer.seen_ms > wall_ms:
                producer.seen_ms = wall_ms
        lapsed = [key for key, producer in self._producers.items() if wall_ms - (producer.seen_ms or 0) >= EXPIRATION_MS]
        for key in lapsed:
            del self._producers[key]
        return len(lapsed)

    def encode(self) -> bytes:
        entries = b"".join(
            _ENTRY.pack(
                producer_id,
                producer.epoch,
                batch.last_sequence,
                batch.last_offset,
                batch.last_offset - batch.base_offset,
                batch.timestamp,
                _NO_COORDINATOR,
                _NO_TRANSACTION,
            )
            for producer_id, producer in self._producers.items()
            for batch in producer.batches
        )
        count = len(entries) // _ENTRY.size
        body = struct.pack(">i", count) + entries
        return struct.pack(">hI", _SNAPSHOT_VERSION, crc32c(body)) + body

    @classmethod
    def decode(cls, data: bytes) -> "ProducerStates":
        """Raises SnapshotCorrupt."""
        if len(data) < _PREAMBLE.size:
            raise SnapshotCorrupt("too short")
        version, checksum, count = _PREAMBLE.unpack_from(data)
        if version != _SNAPSHOT_VERSION:
            raise SnapshotCorrupt(f"version {version} is not known")
        if crc32c(data[_CHECKSUMMED_FROM:]) != checksum or len(data) != _PREAMBLE.size + count * _ENTRY.size:
            raise SnapshotCorrupt("the checksum or the length does not match")
        states = cls()
        for entry in _ENTRY.iter_unpack(data[_PREAMBLE.size :]):
            states._restore(*entry[:6])
        return states

    def _restore(self, producer_id: int, epoch: int, last_sequence: int, last_offset: int, delta: int, timestamp: int) -> None:
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            producer = self._producers[producer_id] = _Producer(epoch)
        if last_sequence >= 0:
            first = advance(last_sequence, -delta)
            producer.add(_Batch(first, last_sequence, last_offset - delta, last_offset, timestamp))

    def _known(self, producer: _Producer, header: BatchHeader) -> Duplicate | None:
        if not producer.batches:
            return None
        last_sequence = advance(header.base_sequence, header.last_delta)
        for batch in producer.batches:
            if batch.first_sequence == header.base_sequence and batch.last_sequence == last_sequence:
                return Duplicate(batch.base_offset, batch.last_offset, batch.timestamp)
        raise BrokerError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {producer.next_sequence}",
        )
