"""What no honest client sends: answered with an error code or a closed connection, and never felt by anybody else."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.frames import frame_request
from broker_impl.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from broker_impl.protocol.messages.metadata import MetadataRequest, MetadataResponse
from broker_impl.protocol.registry import APIS, Api
from broker_impl.protocol.schema import decode, encode
from broker_impl.protocol.wire import Reader
from tests.broker_impl.protocol import declared
from tests.clients.running import Running, wait_until
from tests.clients.wire import WireClient, batch_of, fetch_body, produce_body, values_of

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
HUGE = 0x7FFF_FFFF
CONTROL, TRANSACTIONAL, LOG_APPEND_TIME = 0x20, 0x10, 0x08
MEGABYTE = 1 << 20


@pytest.fixture
def bystander(running: Running) -> Iterator[WireClient]:
    """Another connection to the same broker, which must be served before, meanwhile and afterwards."""
    with running.wire() as wire:
        _serves(wire)
        yield wire
        _serves(wire)


def _serves(wire: WireClient) -> None:
    assert wire.ask(MetadataRequest([]), MetadataResponse).brokers


# Batches


def _with(batch: bytearray, at: int, *data: int) -> bytearray:
    batch[at : at + len(data)] = bytes(data)
    return batch


def _length(batch: bytearray, length: int) -> bytearray:
    struct.pack_into(">i", batch, 8, length)
    return batch


BAD_BATCHES = {
    "wrong-checksum": (_with(batch_of(b"value"), 20, 0), ErrorCode.CORRUPT_MESSAGE),
    "changed-value": (_with(batch_of(b"value"), 68, 1), ErrorCode.CORRUPT_MESSAGE),
    "cut-in-its-header": (batch_of(b"value")[:40], ErrorCode.CORRUPT_MESSAGE),
    "cut-in-its-records": (batch_of(b"value")[:-3], ErrorCode.CORRUPT_MESSAGE),
    "negative-length": (_length(batch_of(b"value"), -5), ErrorCode.CORRUPT_MESSAGE),
    "length-that-lies": (_length(batch_of(b"value"), HUGE), ErrorCode.CORRUPT_MESSAGE),
    "length-too-small": (_length(batch_of(b"value"), 10), ErrorCode.CORRUPT_MESSAGE),
    "two-batches": (batch_of(b"value") * 2, ErrorCode.INVALID_RECORD),
    "old-format": (_with(batch_of(b"value"), 16, 1), ErrorCode.INVALID_RECORD),
    "control": (batch_of(b"value", attributes=CONTROL), ErrorCode.INVALID_RECORD),
    "unknown-codec": (batch_of(b"value", attributes=7), ErrorCode.INVALID_RECORD),
    "transactional": (batch_of(b"value", attributes=TRANSACTIONAL, producer=(1, 0), sequence=0), ErrorCode.INVALID_TXN_STATE),
    "the-leaders-timestamp": (batch_of(b"value", attributes=LOG_APPEND_TIME), ErrorCode.INVALID_TIMESTAMP),
    "producer-without-sequence": (batch_of(b"value", producer=(5, 0), sequence=-1), ErrorCode.INVALID_RECORD),
    "empty": (bytearray(), ErrorCode.INVALID_RECORD),
    "null": (None, ErrorCode.INVALID_RECORD),
}


@pytest.mark.parametrize(("batch", "code"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_a_batch_that_is_none_is_refused_and_the_connection_goes_on(running: Running, batch: bytearray | None, code: ErrorCode) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        answer = wire.produce(topic, batch)
        assert (answer.error_code, answer.base_offset) == (code, -1)
        assert wire.produce(topic, batch_of(b"good")).base_offset == 0
        assert values_of(wire.fetch(topic, 0)) == [b"good"]


@pytest.mark.parametrize("version", range(3, 11))
def test_one_bad_partition_does_not_spoil_the_others(running: Running, version: int) -> None:
    topic = running.new_topic(partitions=2, replicas=running.nodes)
    with running.wire_to_leader(topic) as wire:
        bad, good = BAD_BATCHES["wrong-checksum"][0], batch_of(b"good")
        answer = wire.produce_all({topic: [(0, bad), (1, good)]}, version=version)
        assert [each.error_code for each in answer.topics[0][1]] == [ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE]


@pytest.mark.parametrize("acks", [5, -2, 2])
def test_no_other_acknowledgements_than_the_three_exist(running: Running, acks: int) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        assert wire.produce(topic, batch_of(b"value"), acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
        assert wire.fetch(topic, 0).high_watermark == 0


def test_a_failed_produce_without_acknowledgement_closes_its_connection(running: Running, bystander: WireClient) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        wire.send(PRODUCE, 10, produce_body({topic: [(0, BAD_BATCHES["wrong-checksum"][0])]}, acks=0))
        assert wire.ended()


# Versions and keys


def test_a_version_of_api_versions_from_the_future_is_answered_in_the_oldest(running: Running) -> None:
    with running.wire() as wire:
        wire.send_bytes(frame_request(API_VERSIONS, 99, 7, "wire", b"whatever comes then"))
        assert wire.receive_frame() == bytes.fromhex("00000007 0023 00000001 0012 0000 0004".replace(" ", ""))
        answer = wire.ask(ApiVersionsRequest("wire", "1"), ApiVersionsResponse)
        assert {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys} == {
            api.key: (api.min_version, api.max_version) for api in APIS.values()
        }


@pytest.mark.parametrize("api", [api for api in APIS.values() if api.key != API_VERSIONS], ids=lambda api: api.name)
@pytest.mark.parametrize("newer", [True, False], ids=["newer", "older"])
def test_a_version_that_is_not_served_closes_its_own_connection(running: Running, bystander: WireClient, api: Api, newer: bool) -> None:
    with running.wire() as wire:
        wire.send(api.key, api.max_version + 1 if newer else api.served_since - 1, bytes(100))
        assert wire.ended()


@pytest.mark.parametrize("key", [11, 4, 1000, -1, 32767])
def test_an_unknown_api_closes_its_own_connection(running: Running, bystander: WireClient, key: int) -> None:
    with running.wire() as wire:
        wire.send(key, 0, b"")
        assert wire.ended()


@pytest.mark.parametrize("key", [20_000, 20_001, 20_002], ids=["raft", "command", "suspect"])
@pytest.mark.parametrize("body", [b"", b"\x00" * 50, b"\x94\xa5other\xc0\xa1x\x01"], ids=["empty", "zeros", "another-cluster"])
def test_what_only_brokers_say_is_refused_from_strangers(running: Running, bystander: WireClient, key: int, body: bytes) -> None:
    with running.wire() as wire:
        wire.send(key, 0, body)
        assert wire.ended()


# Frames


@pytest.mark.parametrize("size", [-1, -(1 << 31), 0, 3, 7, HUGE, (100 << 20) + 1])
def test_a_frame_of_an_impossible_size_closes_its_connection(running: Running, bystander: WireClient, size: int) -> None:
    with running.wire() as wire:
        wire.send_bytes(struct.pack(">i", size) + b"some bytes")
        assert wire.ended()


HUGE_ARRAYS = {
    "produce": (PRODUCE, 3, struct.pack(">hhii", -1, 1, 1000, HUGE)),
    "produce-compact": (PRODUCE, 9, b"\0" + struct.pack(">hi", 1, 1000) + b"\xff\xff\xff\xff\x0f"),
    "fetch": (FETCH, 4, struct.pack(">iiiibi", -1, 0, 0, 100, 0, HUGE)),
    "fetch-compact": (FETCH, 12, struct.pack(">iiiibii", -1, 0, 0, 100, 0, 0, -1) + b"\xff\xff\xff\xff\x0f"),
    "metadata": (METADATA, 1, struct.pack(">i", HUGE)),
    "metadata-compact": (METADATA, 9, b"\xff\xff\xff\xff\x0f"),
    "negative": (METADATA, 1, struct.pack(">i", -7)),
    "a-name-that-lies": (METADATA, 1, struct.pack(">ih", 1, 0x7FFF) + b"short"),
    "records-that-lie": (PRODUCE, 3, struct.pack(">hhiih", -1, 1, 1000, 1, 1) + b"a" + struct.pack(">iii", 1, 0, HUGE)),
}


@pytest.mark.parametrize(("key", "version", "body"), HUGE_ARRAYS.values(), ids=HUGE_ARRAYS)
def test_counts_and_lengths_that_lie_close_their_connection(
    running: Running, bystander: WireClient, key: int, version: int, body: bytes
) -> None:
    with running.wire() as wire:
        wire.send(key, version, body)
        assert wire.ended()


def test_promised_bytes_that_never_come_cost_no_memory(running: Running, bystander: WireClient) -> None:
    """Four bytes say that 90 MB follow, on as many connections as memory for large requests allows."""
    before = running.metric("resident_bytes")
    with ExitStack() as liars:
        for _ in range(5):
            liars.enter_context(running.wire()).send_bytes(struct.pack(">i", 90 * MEGABYTE) + bytes(100))
        wait_until(lambda: running.metric("reserved_bytes") >= 400 * MEGABYTE, "the promises to be believed")
        assert running.metric("resident_bytes") - before < 50 * MEGABYTE


def test_a_request_that_arrives_byte_by_byte_is_served(running: Running, bystander: WireClient) -> None:
    with running.wire() as wire:
        for byte in frame_request(API_VERSIONS, 0, 77, "slow", b""):
            wire.send_bytes(bytes([byte]))
        assert wire.receive_frame()[:4] == struct.pack(">i", 77)


# Many requests at once


def test_pipelined_requests_are_answered_in_order(running: Running) -> None:
    """A long poll first, then requests that could be answered at once: they wait for their turn."""
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire, running.wire_to_leader(topic) as other:
        wire.send_bytes(frame_request(FETCH, 12, 1, "wire", fetch_body(topic, 0, 0, -1, -1, 1 << 20, 60_000, 12)))
        for number in range(2, 40):
            wire.send_bytes(frame_request(API_VERSIONS, 0, number, "wire", b""))
        other.produce(topic, batch_of(b"value"))
        assert [int.from_bytes(wire.receive_frame()[:4], "big") for _ in range(1, 40)] == list(range(1, 40))


def test_thousands_of_requests_in_one_gulp_are_answered_in_order(running: Running, bystander: WireClient) -> None:
    """After a large request, so that the connection's buffer holds all of them at once."""
    topic = running.new_topic(max_message_bytes=9 * MEGABYTE)
    count = 20_000
    with running.wire_to_leader(topic) as wire:
        assert wire.produce(topic, batch_of(bytes(8 * MEGABYTE))).error_code == ErrorCode.NONE
        wire.send_bytes(b"".join(frame_request(METADATA, 1, number, None, bytes(4)) for number in range(count)))
        for number in range(count):
            assert wire.receive_frame()[:4] == struct.pack(">i", number)


def test_a_fetch_that_nobody_waits_for_any_more_is_forgotten(running: Running) -> None:
    """Its client asked for an answer within weeks, and left."""
    topic = running.new_topic()
    leader = running.leader(topic)
    before = running.metric("delayed_fetches", leader)
    with ExitStack() as clients:
        for _ in range(50):
            wire = clients.enter_context(running.wire(leader))
            wire.send(FETCH, 12, fetch_body(topic, 0, 0, -1, -1, 1 << 20, HUGE, 12))
        wait_until(lambda: running.metric("delayed_fetches", leader) > before + 40, "the fetches to be parked")
    wait_until(lambda: running.metric("delayed_fetches", leader) < before + 10, "the fetches to be forgotten")


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_advertised_version_is_answered(running: Running, api: Api) -> None:
    """An honest, empty message of every version: whatever the answer says, it comes and can be read."""
    for version in range(api.served_since, api.max_version + 1):
        request = _emptiest(api, version)
        with running.wire() as wire:
            wire.send(api.key, version, request)
            frame, position = wire.receive(api.key, version)
            kind = api.response or getattr(declared, f"{api.name}Response")
            reader = Reader(frame, position)
            decode(kind, version, api.is_flexible(version), reader)
            assert reader.remaining == 0, f"{api.name} {version} has more bytes than its schema"


def _emptiest(api: Api, version: int) -> bytes:
    kind = api.request or getattr(declared, f"{api.name}Request")
    request = kind()
    if api.key == PRODUCE:
        request.acks = 1
    return encode(request, version, api.is_flexible(version))
