"""Headers and frames, against kio's header classes and against bytes of a real broker."""

import pytest
from kio.schema.request_header.v1.header import RequestHeader as OldHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleHeader

from broker_impl.protocol.frames import (
    RequestHeader,
    frame_request,
    frame_response,
    frame_response_parts,
    parse_request_header,
    parse_response_header,
    response_header,
)
from broker_impl.protocol.messages.api_versions import unsupported_version_response
from broker_impl.protocol.registry import APIS
from broker_impl.protocol.schema import encode
from broker_impl.protocol.wire import MalformedRequest
from tests.broker_impl.protocol import judge

VERSIONS = [(api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "größe" * 40])
def test_request_headers_are_those_of_kio(key: int, version: int, client_id: str | None) -> None:
    cls = FlexibleHeader if APIS[key].is_flexible(version) else OldHeader
    header = judge.kio_bytes(
        cls(request_api_key=key, request_api_version=version, correlation_id=-7, client_id=client_id)  # type: ignore[arg-type]
    )
    assert parse_request_header(memoryview(header + b"body")) == RequestHeader(key, version, -7, client_id, len(header))
    assert frame_request(key, version, -7, client_id, b"body") == (len(header) + 4).to_bytes(4, "big") + header + b"body"


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_a_response_is_read_back_from_where_its_header_ends(key: int, version: int) -> None:
    frame = frame_response(key, version, 42, b"body")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert parse_response_header(memoryview(frame)[4:], key, version) == (42, len(frame) - 8)
    assert frame[4:] == response_header(key, version, 42) + b"body"


def test_tagged_fields_in_a_request_header_are_skipped() -> None:
    header = bytes.fromhex("0000 0009 00000001 ffff 02 01 03 aabbcc 8903 00")
    assert parse_request_header(memoryview(header + b"body")).body_position == len(header)


def test_the_response_to_api_versions_never_has_tags_in_its_header() -> None:
    assert [response_header(18, version, 1) for version in range(5)] == [b"\0\0\0\1"] * 5


def test_an_unknown_version_of_api_versions_is_answered_with_the_bytes_of_a_real_broker() -> None:
    body = encode(unsupported_version_response(), 0, flexible=False)
    assert frame_response(18, 99, 7, body)[4:] == bytes.fromhex("00000007 0023 00000001 0012 0000 0004")


def test_a_key_nobody_serves_still_has_a_readable_header() -> None:
    frame = memoryview(frame_request(999, 0, 5, "c", b"body"))[4:]
    assert parse_request_header(frame) == RequestHeader(999, 0, 5, "c", len(frame) - 4)


def test_the_length_of_a_response_in_parts_counts_what_is_not_in_memory() -> None:
    class InFile:
        size = 1000

    records = InFile()
    parts = frame_response_parts(1, 16, 9, [b"before", records, memoryview(b"after")])
    assert parts == [(5 + 6 + 1000 + 5).to_bytes(4, "big") + b"\0\0\0\x09\0before", records, b"after"]


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "0000",
        "0000 0003 00000001",
        "0000 0003 00000001 0005 6162",
        "0000 0003 00000001 fffe",
        "0000 0003 00000001 0001 ff",
        "0000 0009 00000001 ffff",
    ],
)
def test_a_broken_header_is_malformed(frame: str) -> None:
    with pytest.raises(MalformedRequest):
        parse_request_header(memoryview(bytes.fromhex(frame)))
