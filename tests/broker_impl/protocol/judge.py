"""An independent judge: kio, whose schemas are generated from Kafka's own message definitions.

Messages are made at random from our schema, carried over to kio's classes field by field, and then both sides must
produce the same bytes and read each other's. kio has one class a version and richer types (durations, error codes,
UUIDs where null means zero), so `to_kio` translates.
"""

import dataclasses
import importlib
import io
import random
import re
import typing
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer

from broker_impl.protocol.schema import Array, Blob, Fixed, Text, Wire, WireType, wire_fields

ERROR_CODES = [int(code) for code in KioErrorCode]
_RANGES = {
    "b": (-128, 127),
    "h": (-(1 << 15), (1 << 15) - 1),
    "i": (-(1 << 31), (1 << 31) - 1),
    "q": (-(1 << 63), (1 << 63) - 1),
    "H": (0, 65535),
}
_WORDS = ["", "a", "topic-1", "größe", "x" * 130, "日本", "with space"]


def kio_class(name: str, version: int, kind: str) -> Any:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    module = importlib.import_module(f"kio.schema.{snake}.v{version}.{kind.lower()}")
    return getattr(module, name + kind)


def kio_bytes(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def kio_read(cls: Any, data: bytes) -> Any:
    entity, size = entity_reader(cls)(data, 0)
    assert size == len(data)
    return entity


def to_kio(cls: Any, ours: Any) -> Any:
    hints = typing.get_type_hints(cls)
    values = {}
    for each in dataclasses.fields(cls):
        name = each.name if hasattr(ours, each.name) else each.name + "_ms"
        values[each.name] = _translate(getattr(ours, name), each.metadata.get("kafka_type"), hints[each.name])
    return cls(**values)


def kio_shape(cls: Any) -> list[Any]:
    """(name, may be null, tag, shape of what is inside) for each field. kio's null UUID is the zero UUID: no null."""
    hints = typing.get_type_hints(cls)
    return [
        (each.name, _may_be_null(hints[each.name], each), each.metadata.get("tag"), _inner_shape(hints[each.name]))
        for each in dataclasses.fields(cls)
    ]


def _may_be_null(hint: Any, each: Any) -> bool:
    return type(None) in typing.get_args(hint) and each.metadata.get("kafka_type") not in ("uuid", "datetime_i64")


def _inner_shape(hint: Any) -> Any:
    (leaf,) = [each for each in _leaves(hint) if each is not type(None) and each is not Ellipsis]
    shape = kio_shape(leaf) if dataclasses.is_dataclass(leaf) else None
    return [shape] if "tuple" in str(hint) else shape


def random_message(cls: type, version: int, rng: random.Random, size: int = 3) -> Any:
    """A message whose fields of this version are random; the others keep their defaults."""
    return cls(**{name: _random_field(name, how, version, rng, size) for name, how in wire_fields(cls, version)})


def _random_field(name: str, how: Wire, version: int, rng: random.Random, size: int) -> Any:
    if how.nullable(version) and rng.random() < 0.3:
        return None
    if name == "error_code":
        return rng.choice(ERROR_CODES)
    if name == "log_append_time":
        return rng.choice((-1, 0, 1_700_000_000_123))
    return random_value(how.type, version, rng, size)


def random_value(kind: WireType, version: int, rng: random.Random, size: int) -> Any:
    if isinstance(kind, Fixed):
        return random_fixed(kind.code, rng)
    if isinstance(kind, Text):
        return rng.choice(_WORDS)
    if isinstance(kind, Blob):
        return rng.randbytes(rng.choice((0, 1, 200)))
    if isinstance(kind, Array):
        return [random_value(kind.element, version, rng, max(size - 1, 1)) for _ in range(rng.randint(0, size))]
    return random_message(kind, version, rng, size)


def random_fixed(code: str, rng: random.Random) -> Any:
    if code == "?":
        return rng.random() < 0.5
    if code == "16s":
        return rng.choice((bytes(16), rng.randbytes(16)))
    low, high = _RANGES[code]
    return rng.choice((low, high, max(low, -1), 0, 1, rng.randint(low, high)))


def _translate(value: Any, kafka_type: str | None, hint: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        (element,) = [each for each in _leaves(hint) if each is not type(None) and each is not Ellipsis]
        return tuple(_translate(each, kafka_type, element) for each in value)
    if kafka_type == "error_code":
        return KioErrorCode(value)
    if kafka_type == "timedelta_i32":
        return timedelta(milliseconds=value)
    if kafka_type == "datetime_i64":
        return None if value == -1 else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=value)
    if kafka_type == "uuid":
        return None if value == bytes(16) else uuid.UUID(bytes=value)
    if kafka_type is None:
        return to_kio(next(each for each in _leaves(hint) if dataclasses.is_dataclass(each)), value)
    return value


def _leaves(hint: Any) -> list[Any]:
    inner = typing.get_args(hint)
    return [leaf for each in inner for leaf in _leaves(each)] if inner else [hint]
