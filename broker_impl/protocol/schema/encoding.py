"""Messages to bytes: one closure a field, put together once for each (class, version)."""

import struct
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, cast

from broker_impl.protocol.schema.declaration import Array, Blob, Fixed, Text, Wire, WireType, runs, wire_fields
from broker_impl.protocol.wire import length, string, uvarint

Encoder = Callable[[bytearray, Any], None]


def encode(message: object, version: int, flexible: bool) -> bytes:
    """A value the version cannot carry (null, a string too long) is a ValueError: our own mistake, not the client's."""
    out = bytearray()
    _struct_encoder(cast(Any, type(message)), version, flexible)(out, message)
    return bytes(out)


@cache
def _struct_encoder(cls: Any, version: int, flexible: bool) -> Encoder:
    steps = [
        _encode_fixed(names, layout) if layout is not None else _encode_one(names[0], how, version, flexible)
        for names, layout, how in runs(cls, version)
    ]
    if flexible:
        steps.append(_encode_tags(cls, version))

    def encode_struct(out: bytearray, message: Any) -> None:
        for step in steps:
            step(out, message)

    return encode_struct


def _encode_fixed(names: list[str], layout: struct.Struct) -> Encoder:
    pack, values = layout.pack, attrgetter(*names)
    if len(names) == 1:
        return lambda out, message: out.extend(pack(values(message)))
    return lambda out, message: out.extend(pack(*values(message)))


def _encode_one(name: str, how: Wire, version: int, flexible: bool) -> Encoder:
    encoder = _encoder(how.type, version, flexible, nullable=how.nullable(version))
    nullable = how.nullable(version)

    def step(out: bytearray, message: Any) -> None:
        value = getattr(message, name)
        if value is None and not nullable:
            raise ValueError(f"{type(message).__name__}.{name} cannot be null in version {version}")
        encoder(out, value)

    return step


def _encode_tags(cls: type, version: int) -> Encoder:
    defaults = cls()
    tagged = sorted(
        (how.tag, name, getattr(defaults, name), _encoder(how.type, version, True, nullable=how.nullable(version)))
        for name, how in wire_fields(cls, version)
        if how.tag is not None
    )

    def step(out: bytearray, message: Any) -> None:
        present = [(tag, encoder, getattr(message, name)) for tag, name, default, encoder in tagged if getattr(message, name) != default]
        out += uvarint(len(present))
        for tag, encoder, value in present:
            content = bytearray()
            encoder(content, value)
            out += uvarint(tag)
            out += uvarint(len(content))
            out += content

    return step


def _encoder(type: WireType, version: int, flexible: bool, *, nullable: bool) -> Encoder:
    if isinstance(type, Fixed):
        pack = struct.Struct(">" + type.code).pack
        return lambda out, value: out.extend(pack(value))
    if isinstance(type, Text):
        return lambda out, value: out.extend(string(value, flexible))
    if isinstance(type, Blob):
        return _blob_encoder(flexible)
    if isinstance(type, Array):
        return _array_encoder(type.element, version, flexible)
    inner = _struct_encoder(type, version, flexible)
    return _nullable_encoder(inner) if nullable else inner


def _blob_encoder(flexible: bool) -> Encoder:
    def encode_blob(out: bytearray, value: bytes | None) -> None:
        out += length(-1 if value is None else len(value), flexible)
        out += value or b""

    return encode_blob


def _nullable_encoder(inner: Encoder) -> Encoder:
    def encode_nullable(out: bytearray, value: Any) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            inner(out, value)

    return encode_nullable


def _array_encoder(element: WireType, version: int, flexible: bool) -> Encoder:
    inner = _encoder(element, version, flexible, nullable=False)
    code = element.code if isinstance(element, Fixed) and element.is_number else None

    def encode_array(out: bytearray, values: list[Any] | None) -> None:
        if values is None:
            out += length(-1, flexible)
            return
        out += length(len(values), flexible)
        if code is not None:
            out += struct.pack(f">{len(values)}{code}", *values)
            return
        for value in values:
            inner(out, value)

    return encode_array
