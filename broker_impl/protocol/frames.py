"""Frames and headers: what stands around every message.

A frame is its length in four bytes and that many bytes. Here `frame` means those bytes, without the length.

Two exceptions of the protocol live here and nowhere else. The client id stays an old 16-bit string even in the
flexible request header. And the response to ApiVersions always has the oldest header, because a client reads it
before it knows what the broker speaks.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from broker_impl.protocol.registry import API_VERSIONS, APIS
from broker_impl.protocol.wire import MalformedRequest, Part, skip_tags, string

_REQUEST = struct.Struct(">hhih")
_RESPONSE = struct.Struct(">ii")
_RESPONSE_WITH_TAGS = struct.Struct(">iiB")
_SIZE = struct.Struct(">i")


@dataclass(slots=True)
class RequestHeader:
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int


def parse_request_header(frame: memoryview) -> RequestHeader:
    """The header of any request, also of one nobody serves: unknown keys are read as if old. Hot path."""
    try:
        key, version, correlation_id, length = _REQUEST.unpack_from(frame)
        position, client_id = 10, None
        if length >= 0:
            position += length
            if position > len(frame):
                raise MalformedRequest("client id ends outside its frame")
            client_id = str(frame[10:position], "utf-8")
        elif length < -1:
            raise MalformedRequest(f"client id of {length} bytes")
        if version >= _FLEXIBLE_SINCE.get(key, _NEVER):
            position = skip_tags(frame, position) if frame[position] else position + 1
    except (struct.error, IndexError) as error:
        raise MalformedRequest("frame ends inside its header") from error
    except UnicodeDecodeError as error:
        raise MalformedRequest("client id is not UTF-8") from error
    return RequestHeader(key, version, correlation_id, client_id, position)


def response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The header alone, without the frame's length."""
    tags = b"\0" if _has_tags(api_key, api_version) and api_key != API_VERSIONS else b""
    return _SIZE.pack(correlation_id) + tags


def frame_response(api_key: int, api_version: int, correlation_id: int, body: bytes) -> bytes:
    """A whole response, length first."""
    if api_version >= _FLEXIBLE_SINCE.get(api_key, _NEVER) and api_key != API_VERSIONS:
        return _RESPONSE_WITH_TAGS.pack(5 + len(body), correlation_id, 0) + body
    return _RESPONSE.pack(4 + len(body), correlation_id) + body


def frame_response_parts(api_key: int, api_version: int, correlation_id: int, parts: Sequence[Part]) -> list[Part]:
    """The same for a body in parts; the length counts those that are not in memory too."""
    header = response_header(api_key, api_version, correlation_id)
    start = _SIZE.pack(len(header) + size_of(parts)) + header
    if parts and isinstance(parts[0], bytes):
        return [start + parts[0], *parts[1:]]
    return [start, *parts]


def frame_request(api_key: int, api_version: int, correlation_id: int, client_id: str | None, body: bytes) -> bytes:
    """A whole request, length first."""
    tags = b"\0" if _has_tags(api_key, api_version) else b""
    client = string(client_id, flexible=False)
    size = 8 + len(client) + len(tags) + len(body)
    return b"".join((_SIZE.pack(size), _REQUEST.pack(api_key, api_version, correlation_id, 0)[:8], client, tags, body))


def parse_response_header(frame: memoryview, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id and the position of the body."""
    try:
        correlation_id: int = _SIZE.unpack_from(frame)[0]
    except struct.error as error:
        raise MalformedRequest("frame ends inside its header") from error
    if _has_tags(api_key, api_version) and api_key != API_VERSIONS:
        return correlation_id, skip_tags(frame, 4)
    return correlation_id, 4


def size_of(parts: Sequence[Part]) -> int:
    return sum(len(part) if isinstance(part, bytes | memoryview) else part.size for part in parts)


_NEVER = 1 << 15
_FLEXIBLE_SINCE = {api.key: api.flexible_since for api in APIS.values()}


def _has_tags(api_key: int, api_version: int) -> bool:
    return api_version >= _FLEXIBLE_SINCE.get(api_key, _NEVER)
