"""Messages from bytes: one closure a field, put together once for each (class, version)."""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

from broker_impl.protocol.schema.declaration import Array, Blob, Fixed, Text, Wire, WireType, runs, wire_fields
from broker_impl.protocol.wire import MalformedRequest, Reader

M = TypeVar("M")
Decoder = Callable[[Reader], Any]
Step = Callable[[Reader, dict[str, Any]], None]


def decode(cls: type[M], version: int, flexible: bool, reader: Reader) -> M:
    """Read one message; raises MalformedRequest. What follows the message is left in the reader."""
    return cast(M, _struct_decoder(cast(Any, cls), version, flexible)(reader))


@cache
def _struct_decoder(cls: Any, version: int, flexible: bool) -> Decoder:
    steps = _decoding_steps(cls, version, flexible)
    tagged = {
        how.tag: (name, _decoder(how.type, version, flexible, nullable=how.nullable(version)))
        for name, how in wire_fields(cls, version)
        if how.tag is not None
    }

    def decode_struct(reader: Reader) -> Any:
        values: dict[str, Any] = {}
        for step in steps:
            step(reader, values)
        if flexible:
            _decode_tags(reader, values, tagged)
        return cls(**values)

    return decode_struct


def _decoding_steps(cls: type, version: int, flexible: bool) -> list[Step]:
    return [
        _decode_fixed(names, layout) if layout is not None else _decode_one(names[0], how, version, flexible)
        for names, layout, how in runs(cls, version)
    ]


def _decode_fixed(names: list[str], layout: struct.Struct) -> Step:
    def step(reader: Reader, values: dict[str, Any]) -> None:
        values.update(zip(names, reader.unpack(layout), strict=True))

    return step


def _decode_one(name: str, how: Wire, version: int, flexible: bool) -> Step:
    decoder = _decoder(how.type, version, flexible, nullable=how.nullable(version))

    def step(reader: Reader, values: dict[str, Any]) -> None:
        values[name] = decoder(reader)

    return step


def _decode_tags(reader: Reader, values: dict[str, Any], known: dict[int, tuple[str, Decoder]]) -> None:
    for tag, content in reader.tags():
        if tag in known:
            name, decoder = known[tag]
            values[name] = decoder(Reader(content))


def _decoder(type: WireType, version: int, flexible: bool, *, nullable: bool) -> Decoder:
    if isinstance(type, Fixed):
        layout = struct.Struct(">" + type.code)
        return lambda reader: reader.unpack(layout)[0]
    if isinstance(type, Text):
        return _sized_decoder(Reader.text, flexible, nullable, short=True)
    if isinstance(type, Blob):
        return _sized_decoder(lambda reader, size: bytes(reader.take(size)), flexible, nullable, short=False)
    if isinstance(type, Array):
        return _sized_decoder(_array_decoder(type.element, version, flexible), flexible, nullable, short=False)
    inner = _struct_decoder(type, version, flexible)
    return (lambda reader: inner(reader) if reader.int8() >= 0 else None) if nullable else inner


def _sized_decoder(read: Callable[[Reader, int], Any], flexible: bool, nullable: bool, *, short: bool) -> Decoder:
    def decode_sized(reader: Reader) -> Any:
        size = reader.length(flexible, short=short)
        if size >= 0:
            return read(reader, size)
        if not nullable:
            raise MalformedRequest("null where the protocol has none")
        return None

    return decode_sized


def _array_decoder(element: WireType, version: int, flexible: bool) -> Callable[[Reader, int], Any]:
    smallest = _smallest(element, version, flexible)
    if isinstance(element, Fixed) and element.is_number:
        code = element.code

        def decode_numbers(reader: Reader, count: int) -> list[object]:
            reader.claim(count, smallest)
            return list(reader.unpack(struct.Struct(f">{count}{code}")))

        return decode_numbers
    decoder = _decoder(element, version, flexible, nullable=False)

    def decode_array(reader: Reader, count: int) -> list[object]:
        reader.claim(count, smallest)
        return [decoder(reader) for _ in range(count)]

    return decode_array


def _smallest(type: WireType, version: int, flexible: bool) -> int:
    """The fewest bytes a value can take."""
    if isinstance(type, Fixed):
        return struct.calcsize(">" + type.code)
    if isinstance(type, Text):
        return 1 if flexible else 2
    if isinstance(type, Blob | Array):
        return 1 if flexible else 4
    untagged = (how.type for _, how in wire_fields(type, version) if how.tag is None)
    return sum(_smallest(each, version, flexible) for each in untagged) + int(flexible)
