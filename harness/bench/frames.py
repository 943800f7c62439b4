"""Kafka's Produce as bytes, written by hand from the protocol: for a client that costs next to nothing.

A frame is made once and sent again and again: base offset and leader epoch lie outside a batch's checksum, and nobody
asks for different correlation ids. Answers of one request are all of one size, so a client need only count bytes and look
at the error code. Version 9, the layout every later version shares.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from crc32c import crc32c

PRODUCE, VERSION = 0, 9
CLIENT = b"raw"
NO_PRODUCER = (-1, -1, -1)
TIMEOUT_MS = 30_000
BATCH_OVERHEAD = 61

_REQUEST = struct.Struct(">hhih")
_RESULT = struct.Struct(">ihqqq")


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """Where things lie in an answer."""

    size: int
    error_at: int


def record_batch(size: int, records: int, timestamp_ms: int) -> bytes:
    """A valid batch of about `size` bytes (never more) that holds so many equal records."""
    room = (size - BATCH_OVERHEAD) // records
    value = max(room - 16, 0)
    body = b"".join(_record(delta, b"x" * value) for delta in range(records))
    fields = struct.pack(">hiqqqhii", 0, records - 1, timestamp_ms, timestamp_ms, *NO_PRODUCER, records)
    return struct.pack(">qiibI", 0, len(fields) + len(body) + 9, -1, 2, crc32c(fields + body)) + fields + body


def produce_frame(topic: str, partition: int, acks: int, batch: bytes) -> bytes:
    name = topic.encode()
    head = _REQUEST.pack(PRODUCE, VERSION, 7, len(CLIENT)) + CLIENT + b"\0"
    head += b"\0" + struct.pack(">hi", acks, TIMEOUT_MS) + uvarint(2) + uvarint(len(name) + 1) + name
    head += uvarint(2) + struct.pack(">i", partition) + uvarint(len(batch) + 1)
    return struct.pack(">i", len(head) + len(batch) + 3) + head + batch + b"\0\0\0"


def produce_answer(topic: str, partition: int, error: int = 0) -> bytes:
    name = topic.encode()
    body = struct.pack(">i", 7) + b"\0" + uvarint(2) + uvarint(len(name) + 1) + name + uvarint(2)
    body += _RESULT.pack(partition, error, 0, -1, 0) + uvarint(1) + b"\0\0" + b"\0" + struct.pack(">i", 0) + b"\0"
    return struct.pack(">i", len(body)) + body


def answer_info(topic: str) -> FrameInfo:
    before_result = 4 + 4 + 1 + 1 + len(uvarint(len(topic.encode()) + 1)) + len(topic.encode()) + 1
    return FrameInfo(len(produce_answer(topic, 0)), before_result + 4)


def batch_in(frame: memoryview) -> memoryview:
    """The records of the first partition of a Produce request; `frame` begins behind its length."""
    _key, _version, _correlation, client = _REQUEST.unpack_from(frame)
    position = _REQUEST.size + client + 2 + 6 + 1
    length, position = _read_uvarint(frame, position)
    length, position = _read_uvarint(frame, position + length - 1 + 1 + 4)
    return frame[position : position + length - 1]


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_uvarint(frame: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while frame[position] & 0x80:
        value |= (frame[position] & 0x7F) << shift
        position, shift = position + 1, shift + 7
    return value | frame[position] << shift, position + 1


def _record(delta: int, value: bytes) -> bytes:
    content = b"\0\0" + _varint(delta) + _varint(-1) + _varint(len(value)) + value + _varint(0)
    return _varint(len(content)) + content


def _varint(value: int) -> bytes:
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)
