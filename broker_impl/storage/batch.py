"""Record batches, version 2, as the broker sees them: a header of 61 bytes and a tail it never looks into.

Base offset and leader epoch lie outside the checksum, so a leader numbers a batch by patching twelve bytes. For the
same reason a batch that verifies proves nothing about its place: whoever finds batches in a file must also compare
their offsets and epochs with what is expected there.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

HEADER_SIZE = 61
OVERHEAD = 12
CHECKSUMMED_FROM = 21
MAGIC = 2
NO_PRODUCER = -1
NO_TIMESTAMP = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20

_CRC_AT = 17
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP_AT = 35
_HEADER = struct.Struct(">qiibIhiqqqhii")
_PLACE = struct.Struct(">qii")
_ATTRIBUTES = struct.Struct(">h")
_TIMESTAMP = struct.Struct(">q")
_CRC = struct.Struct(">I")
_new = tuple.__new__
assert _HEADER.size == HEADER_SIZE


class BatchHeader(NamedTuple):
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_delta

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK


def parse_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """Needs 61 bytes from there; says nothing about whether they make sense. Hot path: `_make` would count the fields anew."""
    return _new(BatchHeader, _HEADER.unpack_from(buffer, position))


def is_plausible(header: BatchHeader) -> bool:
    """Whether a walk from batch to batch may believe this header's length."""
    return header.length >= HEADER_SIZE - OVERHEAD and header.magic == MAGIC and header.last_delta >= 0 and header.base_offset >= 0


def crc_matches(batch: bytes | memoryview, header: BatchHeader) -> bool:
    """`batch` is exactly this batch."""
    return bool(crc32c(memoryview(batch)[CHECKSUMMED_FROM:]) == header.crc)


def place(batch: memoryview, header: BatchHeader, base_offset: int, leader_epoch: int) -> None:
    """Numbers the batch in place; its checksum stays what it is."""
    _PLACE.pack_into(batch, 0, base_offset, header.length, leader_epoch)


def stamp(batch: memoryview, header: BatchHeader, timestamp: int) -> BatchHeader:
    """LogAppendTime: every record gets the leader's time through the header; the checksum is made anew."""
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, header.attributes | LOG_APPEND_TIME)
    _TIMESTAMP.pack_into(batch, _MAX_TIMESTAMP_AT, timestamp)
    crc = crc32c(batch[CHECKSUMMED_FROM:])
    _CRC.pack_into(batch, _CRC_AT, crc)
    return header._replace(attributes=header.attributes | LOG_APPEND_TIME, max_timestamp=timestamp, crc=crc)


def iterate(buffer: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch; ends at one that is cut off or whose length cannot be true."""
    position, end = 0, len(buffer)
    while position + HEADER_SIZE <= end:
        header = parse_header(buffer, position)
        if not is_plausible(header) or position + header.size > end:
            return
        yield position, header
        position += header.size
