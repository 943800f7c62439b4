"""Replicas' logs read from their segment files: every batch with its header, every record with its offset and our value.

A reader of our own, so that a broker that writes nonsense is not believed by its own code. The checksum reported is the one of the
bytes found, whatever the header claims, so that two replicas with equal rows hold equal bytes. Only batches of version 2 are read, and
records only of those that are not compressed: the others are counted, never guessed. A walk ends where a batch is cut off.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from crc32c import crc32c

from harness.history.beside import Batch, Record
from harness.systems.system import ReplicaLog

_HEADER = struct.Struct(">qiibIhiqqqhii")
_OVERHEAD = 12
_CHECKSUMMED_FROM = 21
_CODEC, _CONTROL = 0x07, 0x20
_MAGIC = 2


class Found(NamedTuple):
    """A whole batch: what its header says, the checksum of its bytes, and the bytes behind the header."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    producer_id: int
    producer_epoch: int
    sequence: int
    records: int
    size: int
    body: memoryview


def read_replica(
    node: str, topic: str, part: int, segments: Iterable[bytes], high_watermark: int | None, value_of: Callable[[bytes], int | None]
) -> ReplicaLog:
    """`segments` in order. The high watermark is the one the broker wrote down last, or nothing."""
    found = [(batch, segment_records(batch, value_of)) for data in segments for batch in batches_in(data)]
    end = found[-1][0].last_offset + 1 if found else 0
    batches = [
        Batch(
            node, topic, part, batch.base_offset, batch.last_offset, batch.leader_epoch, batch.crc, batch.producer_id,
            batch.producer_epoch, batch.sequence, batch.size, high_watermark, end,
        )
        for batch, _ in found
    ]  # fmt: skip
    records = [Record(node, topic, part, offset, value) for _, values in found for offset, value in values]
    return ReplicaLog(node, topic, part, batches, records, sum(is_compressed(batch) for batch, _ in found))


def batches_in(data: bytes) -> Iterator[Found]:
    """Every whole batch, up to the first that is none."""
    view, position = memoryview(data), 0
    while position + _HEADER.size <= len(view):
        base, length, epoch, magic, _, attributes, last, _, _, producer, producer_epoch, sequence, count = _HEADER.unpack_from(
            view, position
        )
        end = position + _OVERHEAD + length
        if magic != _MAGIC or length < _HEADER.size - _OVERHEAD or end > len(view) or last < 0 or base < 0:
            return
        crc = crc32c(view[position + _CHECKSUMMED_FROM : end])
        body = view[position + _HEADER.size : end]
        yield Found(
            base, base + last, epoch, crc, attributes, producer, producer_epoch, sequence, count, end - position, body
        )  # fmt: skip
        position = end


def is_compressed(batch: Found) -> bool:
    return bool(batch.attributes & _CODEC)


def segment_records(batch: Found, value_of: Callable[[bytes], int | None]) -> list[tuple[int, int | None]]:
    """Offset and value of each record; none for a compressed batch, no value for a control record or a damaged rest."""
    if is_compressed(batch):
        return []
    control = bool(batch.attributes & _CONTROL)
    found: list[tuple[int, int | None]] = []
    position = 0
    try:
        for _ in range(batch.records):
            size, position = _varint(batch.body, position)
            end = position + size
            offset, payload = _record(batch.body, position)
            found.append((batch.base_offset + offset, None if control or payload is None else value_of(bytes(payload))))
            position = end
    except IndexError:
        pass
    return found


def _record(body: memoryview, position: int) -> tuple[int, memoryview | None]:
    """Its offset in the batch and its payload; a byte of attributes comes first."""
    _, position = _varint(body, position + 1)
    offset, position = _varint(body, position)
    key, position = _varint(body, position)
    size, position = _varint(body, position + max(key, 0))
    return offset, body[position : position + size] if size >= 0 else None


def _varint(body: memoryview, position: int) -> tuple[int, int]:
    byte = body[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = body[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + 1
        shift += 7
