"""Single records of a batch that is not compressed: for looking up a time, for tests and for tools.

The broker's hot path never comes here; it treats what follows a batch's header as opaque.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from crc32c import crc32c

from broker_impl.storage.batch import HEADER_SIZE, LOG_APPEND_TIME, MAGIC, NO_PRODUCER, OVERHEAD, BatchHeader, parse_header

_HEADER = struct.Struct(">qiibIhiqqqhii")


class MalformedRecord(ValueError):
    """The bytes are no records."""


@dataclass(frozen=True, slots=True)
class Record:
    value: bytes | None
    key: bytes | None = None
    timestamp: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int = -1


def build_batch(
    contents: Sequence[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytearray:
    """A batch as a client sends it. With a codec in the attributes it only claims to be compressed."""
    first = contents[0].timestamp
    tail = b"".join(_encode(record, index, record.timestamp - first) for index, record in enumerate(contents))
    batch = bytearray(HEADER_SIZE) + tail
    latest = max(record.timestamp for record in contents)
    fields = [base_offset, len(batch) - OVERHEAD, leader_epoch, MAGIC, 0, attributes, len(contents) - 1, first, latest]
    fields += [producer_id, producer_epoch, base_sequence, len(contents)]
    _HEADER.pack_into(batch, 0, *fields)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return batch


def records(batch: bytes | bytearray | memoryview) -> list[Record]:
    """Of one whole batch; raises MalformedRecord, also where it is compressed."""
    header = parse_header(batch)
    if header.codec:
        raise MalformedRecord("the batch is compressed")
    reader = _Reader(memoryview(batch)[HEADER_SIZE : header.size])
    try:
        return [_decode(reader, header) for _ in range(header.record_count)]
    except (IndexError, UnicodeDecodeError) as problem:
        raise MalformedRecord(f"record of batch {header.base_offset}: {problem}") from None


class _Reader:
    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self._position = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._buffer[self._position]
            self._position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise MalformedRecord("a number that does not end")

    def take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._buffer):
            raise MalformedRecord("a length that lies")
        data = bytes(self._buffer[self._position : end])
        self._position = end
        return data

    def nullable(self) -> bytes | None:
        size = self.varint()
        return None if size < 0 else self.take(size)


def _decode(reader: _Reader, header: BatchHeader) -> Record:
    reader.varint()
    reader.take(1)
    timestamp = header.base_timestamp + reader.varint()
    offset = header.base_offset + reader.varint()
    key, value = reader.nullable(), reader.nullable()
    count = reader.varint()
    headers = tuple((reader.take(reader.varint()).decode(), reader.nullable()) for _ in range(count))
    stamped = header.max_timestamp if header.attributes & LOG_APPEND_TIME else timestamp
    return Record(value, key, stamped, headers, offset)


def _encode(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    body = bytearray(b"\0")
    body += _varint(timestamp_delta) + _varint(offset_delta) + _field(record.key) + _field(record.value) + _varint(len(record.headers))
    for name, value in record.headers:
        body += _field(name.encode()) + _field(value)
    return _varint(len(body)) + bytes(body)


def _field(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
