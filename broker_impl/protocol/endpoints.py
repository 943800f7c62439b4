"""Leader hints (KIP-951): who leads now, and addresses to go to, sent along by Produce and Fetch."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from broker_impl.protocol.wire import Reader, string, uvarint

_INT32 = struct.Struct(">i")
_NODE_ENDPOINTS_TAG = 0
_SMALLEST = 11


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None = None


def encode_node_endpoints(endpoints: Iterable[NodeEndpoint]) -> bytes:
    """The tag section that ends the response; without endpoints an empty one."""
    items = [
        _INT32.pack(each.node_id) + string(each.host, True) + _INT32.pack(each.port) + string(each.rack, True) + b"\0" for each in endpoints
    ]
    if not items:
        return b"\0"
    content = uvarint(len(items) + 1) + b"".join(items)
    return b"\1" + uvarint(_NODE_ENDPOINTS_TAG) + uvarint(len(content)) + content


def parse_node_endpoints(reader: Reader) -> list[NodeEndpoint]:
    endpoints: list[NodeEndpoint] = []
    for tag, content in reader.tags():
        if tag == _NODE_ENDPOINTS_TAG:
            inner = Reader(content)
            endpoints = [_parse_node_endpoint(inner) for _ in range(inner.count(True, _SMALLEST))]
    return endpoints


def parse_pair(content: memoryview, layout: struct.Struct) -> tuple[int, int] | None:
    """The two numbers of a hint (leader and epoch, epoch and end offset); -1 twice is the same as no hint."""
    first, second = Reader(content).unpack(layout)
    return None if first == second == -1 else (first, second)


def _parse_node_endpoint(reader: Reader) -> NodeEndpoint:
    node_id = reader.int32()
    host = reader.text(reader.length(True))
    port = reader.int32()
    rack = reader.nullable_text(True)
    reader.skip_tags()
    return NodeEndpoint(node_id, host, port, rack)
