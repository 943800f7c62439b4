"""Messages declared once, for all their versions.

A message is a dataclass; each field says with `wire()` how it travels and in which versions. From that a codec is
compiled for each (class, version) when it is first needed. A field that a version lacks keeps its default when
decoding and is left out when encoding, so handlers see one class whatever the client speaks.

    @dataclass(slots=True)
    class Topic:
        name: str | None = wire(STRING, nullable_since=10)
        topic_id: bytes = wire(UUID, since=10)
        partitions: list[Partition] = wire(array(Partition))

Fields are declared in the order of the wire. Neighbours of fixed size are packed and unpacked together: that, not
generated code, is what makes a Metadata response of a thousand partitions cheap.
"""

from broker_impl.protocol.schema.declaration import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Array,
    Blob,
    Fixed,
    Text,
    Wire,
    WireType,
    array,
    wire,
    wire_fields,
)
from broker_impl.protocol.schema.decoding import decode
from broker_impl.protocol.schema.encoding import encode

__all__ = [
    "BOOL",
    "BYTES",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "UINT16",
    "UUID",
    "Array",
    "Blob",
    "Fixed",
    "Text",
    "Wire",
    "WireType",
    "array",
    "decode",
    "encode",
    "wire",
    "wire_fields",
]
