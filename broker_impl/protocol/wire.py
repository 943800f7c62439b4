"""The primitive types of the Kafka protocol, read with suspicion and written plainly.

Every length in a request is a claim by a stranger. A `Reader` believes none: what a length promises must lie
inside the frame, and the elements of all arrays of one message together are bounded, so that neither a lie nor
a long truth costs more memory than the frame itself justifies. Whatever is wrong is one exception,
`MalformedRequest`; its cure is always to close the connection.

The trap: slicing a memoryview past its end gives a shorter slice and no error, so each slice is checked first.
"""

import struct
from collections.abc import Iterator
from typing import Any, Protocol

MAX_ELEMENTS = 100_000
MAX_TAGS = 32
ZERO_UUID = bytes(16)

_SHIFTS = (7, 14, 21, 28)
_ONE_BYTE = tuple(bytes((value,)) for value in range(128))
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_MAX_INT16 = 0x7FFF


class FilePart(Protocol):
    """A piece of a response that is not in memory; the protocol knows only its size."""

    @property
    def size(self) -> int: ...


Part = bytes | memoryview | FilePart


class MalformedRequest(Exception):
    """Bytes that are no message of the protocol."""


class Reader:
    """A position in a frame. Invariant: 0 <= position <= end, and end is the frame's length."""

    __slots__ = ("_elements", "buffer", "end", "position")

    def __init__(self, buffer: memoryview, position: int = 0, max_elements: int = MAX_ELEMENTS) -> None:
        self.buffer = buffer
        self.end = len(buffer)
        if not 0 <= position <= self.end:
            raise MalformedRequest("message starts outside its frame")
        self.position = position
        self._elements = max_elements

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        position = self.position
        if layout.size > self.end - position:
            raise MalformedRequest("message ends inside a number")
        self.position = position + layout.size
        return layout.unpack_from(self.buffer, position)

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, not copied."""
        position = self.position
        if not 0 <= size <= self.end - position:
            raise MalformedRequest(f"{size} bytes promised, {self.end - position} left")
        self.position = position + size
        return self.buffer[position : position + size]

    def int8(self) -> int:
        byte = self.take(1)[0]
        return byte - 256 if byte > 127 else byte

    def int16(self) -> int:
        value: int = _INT16.unpack(self.take(2))[0]
        return value

    def int32(self) -> int:
        value: int = _INT32.unpack(self.take(4))[0]
        return value

    def uvarint(self) -> int:
        value, self.position = read_uvarint(self.buffer, self.position)
        return value

    def length(self, flexible: bool, *, short: bool = False) -> int:
        """The length before a string, bytes or array; -1 is null. `short`: old strings count in 16 bits."""
        if flexible:
            return self.uvarint() - 1
        length = self.int16() if short else self.int32()
        if length < -1:
            raise MalformedRequest(f"negative length {length}")
        return length

    def text(self, size: int) -> str:
        try:
            return str(self.take(size), "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedRequest("a string that is not UTF-8") from error

    def count(self, flexible: bool, smallest: int = 1) -> int:
        """The number of elements of an array that is never null."""
        count = self.length(flexible)
        if count < 0:
            raise MalformedRequest("null where the protocol has none")
        self.claim(count, smallest)
        return count

    def tags(self) -> Iterator[tuple[int, memoryview]]:
        """The tagged fields of a section, each with its content."""
        for _ in range(tag_count(self.uvarint())):
            tag, size = self.uvarint(), self.uvarint()
            yield tag, self.take(size)

    def claim(self, count: int, smallest: int) -> None:
        """Accept an array of `count` elements of at least `smallest` bytes each, or refuse the message."""
        self._elements -= count
        if count * smallest > self.end - self.position or self._elements < 0:
            raise MalformedRequest(f"array of {count} elements promised, {self.end - self.position} bytes left")

    def nullable_text(self, flexible: bool) -> str | None:
        size = self.length(flexible, short=True)
        return self.text(size) if size >= 0 else None

    def skip_tags(self) -> None:
        self.position = skip_tags(self.buffer, self.position)


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits and the position after it. Hot path: nearly all are one byte."""
    try:
        byte = buffer[position]
        if byte < 0x80:
            return byte, position + 1
        value = byte & 0x7F
        for shift in _SHIFTS:
            position += 1
            byte = buffer[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
    except IndexError as error:
        raise MalformedRequest("message ends inside a varint") from error
    if byte >= 0x80 or value > 0xFFFF_FFFF:
        raise MalformedRequest("varint larger than 32 bits")
    return value, position + 1


def skip_tags(buffer: memoryview, position: int) -> int:
    """The position after a section of tagged fields, none of them wanted."""
    count, position = read_uvarint(buffer, position)
    for _ in range(tag_count(count)):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > len(buffer):
            raise MalformedRequest("tagged field ends outside its frame")
    return position


def tag_count(count: int) -> int:
    """Refuses a section no honest message has: skipping is cheap, but not for a frame full of them."""
    if count > MAX_TAGS:
        raise MalformedRequest(f"{count} tagged fields in one section")
    return count


def spend(budget: int, count: int) -> int:
    """What is left of the elements a message may have; for codecs that read without a Reader."""
    if not 0 <= count <= budget:
        raise MalformedRequest(f"array of {count} elements")
    return budget - count


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(value: str | None, flexible: bool) -> bytes:
    """A string as it travels, null included."""
    if value is None:
        return b"\0" if flexible else b"\xff\xff"
    data = value.encode()
    if flexible:
        return uvarint(len(data) + 1) + data
    if len(data) > _MAX_INT16:
        raise ValueError(f"string of {len(data)} bytes in a version that counts to {_MAX_INT16}")
    return _INT16.pack(len(data)) + data


def length(count: int, flexible: bool) -> bytes:
    """The length of bytes or of an array; -1 is null."""
    return uvarint(count + 1) if flexible else _INT32.pack(count)
