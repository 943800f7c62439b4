"""What a message says about itself: types, versions, null, tags. See the package for the idea."""

import struct
from dataclasses import dataclass, field, fields
from typing import Any, cast

from broker_impl.protocol.wire import ZERO_UUID

NEVER = 1 << 15


@dataclass(frozen=True, slots=True)
class Fixed:
    """A type of constant size, named by its code in `struct`."""

    code: str
    default: object = 0

    @property
    def is_number(self) -> bool:
        return len(self.code) == 1


@dataclass(frozen=True, slots=True)
class Text:
    default: str = ""


@dataclass(frozen=True, slots=True)
class Blob:
    default: bytes = b""


@dataclass(frozen=True, slots=True)
class Array:
    element: "WireType"


WireType = Fixed | Text | Blob | Array | type

INT8 = Fixed("b")
INT16 = Fixed("h")
INT32 = Fixed("i")
INT64 = Fixed("q")
UINT16 = Fixed("H")
BOOL = Fixed("?", False)
UUID = Fixed("16s", ZERO_UUID)
STRING = Text()
BYTES = Blob()


def array(element: WireType) -> Array:
    return Array(element)


@dataclass(frozen=True, slots=True)
class Wire:
    """How one field travels: in the versions since..until, null from `nullable_since` on."""

    type: WireType
    since: int
    until: int
    nullable_since: int
    tag: int | None

    def present(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        return version >= self.nullable_since


def wire(
    type: WireType,
    *,
    since: int = 0,
    until: int = NEVER,
    nullable_since: int = NEVER,
    default: Any = ...,
    tag: tuple[int, int] | None = None,
) -> Any:
    """Declare a field. `tag` is (number, first version): a field that travels only when it differs from its default."""
    number, since = tag if tag is not None else (None, since)
    declared = {"wire": Wire(type, since, until, nullable_since, number)}
    if default is not ...:
        return field(default=default, metadata=declared)
    if isinstance(type, Array):
        return field(default_factory=list, metadata=declared)
    if isinstance(type, Fixed | Text | Blob):
        return field(default=type.default, metadata=declared)
    return field(default_factory=type, metadata=declared)


def wire_fields(cls: type, version: int) -> list[tuple[str, Wire]]:
    """The fields of a message that exist in a version, in the order of the wire."""
    declared = [(each.name, cast(Wire, each.metadata["wire"])) for each in fields(cls)]
    return [(name, how) for name, how in declared if how.present(version)]


def runs(cls: type, version: int) -> list[tuple[list[str], struct.Struct | None, Wire]]:
    """The untagged fields, neighbours of fixed size taken together with the layout they share."""
    runs: list[tuple[list[str], str, Wire]] = []
    for name, how in wire_fields(cls, version):
        if how.tag is not None:
            continue
        code = how.type.code if isinstance(how.type, Fixed) else ""
        if code and runs and runs[-1][1]:
            names, codes, first = runs[-1]
            runs[-1] = ([*names, name], codes + code, first)
        else:
            runs.append(([name], code, how))
    return [(names, struct.Struct(">" + codes) if codes else None, how) for names, codes, how in runs]
