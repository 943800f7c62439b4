"""Every API in every version against kio: the same bytes for the same values, both ways."""

import random
from typing import Any

import pytest

from broker_impl.protocol.messages.api_versions import unsupported_version_response
from broker_impl.protocol.registry import APIS
from broker_impl.protocol.schema import Array, WireType, decode, encode, wire_fields
from broker_impl.protocol.wire import Reader
from tests.broker_impl.protocol import declared, judge
from tests.broker_impl.protocol.future import back_to_today, from_the_future

ROUNDS = 12


def cases() -> list[Any]:
    """(our class, kio's class, version, flexible) for each message of each served version."""
    found = []
    for api in APIS.values():
        for version in range(api.served_since, api.max_version + 1):
            for kind, cls in (("Request", api.request), ("Response", api.response)):
                name = api.name + kind
                ours = cls or getattr(declared, name)
                found.append(
                    pytest.param(ours, judge.kio_class(api.name, version, kind), version, api.is_flexible(version), id=f"{name}-v{version}")
                )
    return found


CASES = cases()
each_message = pytest.mark.parametrize(("ours", "theirs", "version", "flexible"), CASES)
each_flexible_message = pytest.mark.parametrize(("ours", "theirs", "version", "flexible"), [case for case in CASES if case.values[3]])


def decoded(cls: type, version: int, flexible: bool, data: bytes) -> Any:
    reader = Reader(memoryview(data))
    message: Any = decode(cls, version, flexible, reader)
    assert reader.remaining == 0
    return message


@each_message
def test_our_bytes_are_those_of_kio_and_each_reads_the_other(ours: type, theirs: Any, version: int, flexible: bool) -> None:
    assert theirs.__flexible__ == flexible
    for seed in range(ROUNDS):
        message = judge.random_message(ours, version, random.Random(seed))
        expected = judge.to_kio(theirs, message)
        data = encode(message, version, flexible)
        assert data == judge.kio_bytes(expected)
        assert judge.kio_read(theirs, data) == expected
        assert decoded(ours, version, flexible, data) == message


@each_message
def test_fields_their_order_nulls_and_tags_are_those_kio_knows(ours: type, theirs: Any, version: int, flexible: bool) -> None:
    assert our_shape(ours, version) == judge.kio_shape(theirs)


@each_flexible_message
def test_tagged_fields_from_the_future_are_skipped_at_every_level(ours: type, theirs: Any, version: int, flexible: bool) -> None:
    future = from_the_future(ours)
    for seed in range(ROUNDS):
        message = judge.random_message(future, version, random.Random(seed))
        message.from_the_future = "unknown today"
        data = encode(message, version, flexible=True)
        assert decoded(ours, version, True, data) == back_to_today(message, ours)


def test_a_request_for_an_unknown_version_of_api_versions_gets_the_bytes_of_a_real_broker() -> None:
    assert encode(unsupported_version_response(), 0, flexible=False) == bytes.fromhex("0023 00000001 0012 0000 0004")


def test_the_registry_advertises_exactly_what_is_served() -> None:
    advertised = {api.key: (api.min_version, api.max_version) for api in APIS.values()}
    assert advertised == {
        0: (0, 10), 1: (4, 16), 2: (1, 7), 3: (0, 13), 10: (0, 4), 18: (0, 4), 19: (2, 7), 20: (1, 6), 22: (0, 4),
        23: (2, 4), 32: (1, 4), 37: (0, 3), 43: (0, 2), 44: (0, 1), 55: (0, 2), 60: (0, 1), 75: (0, 0),
    }  # fmt: skip
    assert [api.name for api in APIS.values() if api.served_since != api.min_version] == ["Produce"]


def our_shape(cls: type, version: int) -> list[Any]:
    return [
        (name.removesuffix("_ms"), how.nullable(version), how.tag, _inner(how.type, version)) for name, how in wire_fields(cls, version)
    ]


def _inner(kind: WireType, version: int) -> Any:
    if isinstance(kind, Array):
        return [_inner(kind.element, version)]
    return our_shape(kind, version) if isinstance(kind, type) else None
