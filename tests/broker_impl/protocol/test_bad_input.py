"""Frames from a stranger who means harm, or from a client with a bug.

Real messages are cut short, changed at random bytes, and given lengths that lie. Whatever comes, decoding gives a
message or MalformedRequest, and never holds more memory than the frame can justify.
"""

import random
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker_impl.protocol.fetch import FetchPartition, FetchRequest, FetchTopic, encode_fetch_request, parse_fetch, parse_fetch_response
from broker_impl.protocol.frames import frame_request, parse_request_header
from broker_impl.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from broker_impl.protocol.produce import Partitions, ProduceRequest, encode_produce_request, parse_produce, parse_produce_response
from broker_impl.protocol.registry import APIS, FETCH, PRODUCE, Api
from broker_impl.protocol.schema import decode, encode
from broker_impl.protocol.wire import MAX_ELEMENTS, MalformedRequest, Reader
from tests.broker_impl.protocol import declared, judge

MUTANTS = 60
ALLOWANCE = 200_000
LYING_BYTES = (
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x7f\xff",
    b"\x80\0",
    b"\0",
)
Parse = Callable[[memoryview, int, int], object]
HOT: dict[tuple[int, str], Parse] = {
    (PRODUCE, "Request"): parse_produce,
    (PRODUCE, "Response"): parse_produce_response,
    (FETCH, "Request"): parse_fetch,
    (FETCH, "Response"): parse_fetch_response,
}


def parser(api: Api, kind: str) -> Parse:
    cls = api.request if kind == "Request" else api.response
    if cls is None:
        return HOT[api.key, kind]
    return lambda frame, position, version: decode(cls, version, api.is_flexible(version), Reader(frame, position))


def sample(api: Api, kind: str, version: int, rng: random.Random) -> bytes:
    cls = (api.request if kind == "Request" else api.response) or getattr(declared, api.name + kind)
    return encode(judge.random_message(cls, version, rng), version, api.is_flexible(version))


def mutants(data: bytes, rng: random.Random) -> Iterator[bytes]:
    for _ in range(MUTANTS):
        mutant = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(mutant))
            match rng.randrange(4):
                case 0:
                    del mutant[at:]
                case 1:
                    mutant[at : at + 1] = rng.randbytes(1)
                case 2:
                    lie = rng.choice(LYING_BYTES)
                    mutant[at : at + len(lie)] = lie
                case 3:
                    mutant[at:at] = rng.randbytes(rng.randint(1, 8))
        yield bytes(mutant)


EACH = pytest.mark.parametrize(
    ("api", "kind", "version"),
    [
        pytest.param(api, kind, version, id=f"{api.name}{kind}-v{version}")
        for api in APIS.values()
        for kind in ("Request", "Response")
        for version in range(api.served_since, api.max_version + 1)
    ],
)


@EACH
def test_a_mutated_message_is_read_or_malformed(api: Api, kind: str, version: int) -> None:
    parse, rng = parser(api, kind), random.Random(f"{api.name}{kind}{version}")
    for _ in range(5):
        for mutant in mutants(sample(api, kind, version, rng), rng):
            outcome(parse, mutant, version)


@EACH
def test_a_message_cut_short_anywhere_is_malformed(api: Api, kind: str, version: int) -> None:
    parse, rng = parser(api, kind), random.Random(f"{api.name}{kind}{version}")
    data = sample(api, kind, version, rng)
    for size in range(len(data)):
        assert outcome(parse, data[:size], version) is MalformedRequest


def outcome(parse: Parse, data: bytes, version: int) -> Any:
    try:
        return parse(memoryview(data), 0, version)
    except MalformedRequest:
        return MalformedRequest


def test_a_mutated_header_is_read_or_malformed() -> None:
    rng = random.Random(7)
    for api in APIS.values():
        frame = frame_request(api.key, api.max_version, 1, "client", b"body")[4:]
        for mutant in mutants(frame, rng):
            outcome(lambda data, *_: parse_request_header(data), mutant, 0)


@EACH
def test_lengths_that_lie_cost_no_memory(api: Api, kind: str, version: int) -> None:
    """Each field in turn, at each place, says that gigabytes follow."""
    parse, rng = parser(api, kind), random.Random(f"{api.name}{kind}{version}")
    data = sample(api, kind, version, rng)
    outcome(parse, data, version)
    tracemalloc.start()
    try:
        for at in range(0, len(data), max(1, len(data) // 40)):
            for lie in LYING_BYTES[:5]:
                outcome(parse, data[:at] + lie + data[at + len(lie) :], version)
        assert tracemalloc.get_traced_memory()[1] < ALLOWANCE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [3, 10])
def test_a_produce_of_more_partitions_than_any_cluster_has_is_refused(version: int) -> None:
    half: Partitions = [(index, None) for index in range(MAX_ELEMENTS // 2)]
    request = ProduceRequest(None, 1, 1000, [("a", half), ("b", half)])
    assert outcome(parse_produce, encode_produce_request(version, request), version) is MalformedRequest


@pytest.mark.parametrize("version", [4, 16])
def test_a_fetch_of_more_partitions_than_any_cluster_has_is_refused(version: int) -> None:
    half = [FetchPartition(index, -1, 0, -1, -1, 1) for index in range(MAX_ELEMENTS // 2)]
    request = FetchRequest(topics=[FetchTopic("a", bytes(16), half), FetchTopic("b", bytes(16), half)])
    assert outcome(parse_fetch, encode_fetch_request(version, request), version) is MalformedRequest


@pytest.mark.parametrize("version", [2, 7])
def test_a_long_frame_of_tiny_topics_is_refused_although_all_its_bytes_are_there(version: int) -> None:
    message = CreateTopicsRequest([CreatableTopic()] * (MAX_ELEMENTS + 1))
    data = encode(message, version, flexible=version >= 5)
    assert outcome(parser(APIS[19], "Request"), data, version) is MalformedRequest
