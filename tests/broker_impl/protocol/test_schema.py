"""The declarative codec itself, on a message made for the purpose."""

from dataclasses import dataclass

import pytest

from broker_impl.protocol.schema import BOOL, BYTES, INT8, INT16, INT32, STRING, UUID, array, decode, encode, wire
from broker_impl.protocol.wire import MalformedRequest, Reader


@dataclass(slots=True)
class Inner:
    number: int = wire(INT32)
    word: str = wire(STRING)


@dataclass(slots=True)
class Sample:
    first: int = wire(INT8)
    renamed: int = wire(INT16, since=1, until=2, default=7)
    flag: bool = wire(BOOL)
    blob: bytes | None = wire(BYTES, nullable_since=1)
    identity: bytes = wire(UUID, since=2)
    ids: list[bytes] = wire(array(UUID), since=3)
    inner: Inner | None = wire(Inner, since=2, nullable_since=2, default=None)
    inners: list[Inner] = wire(array(Inner))
    late: str = wire(STRING, tag=(5, 2), default="usual")
    early: list[int] = wire(array(INT16), tag=(1, 2))


FULL = Sample(1, 2, True, b"bytes", bytes(range(16)), [bytes(16)], Inner(3, "c"), [Inner(4, "d"), Inner(5, "e")], "unusual", [6, 7])


def again(message: Sample, version: int, flexible: bool) -> Sample:
    return decode(Sample, version, flexible, Reader(memoryview(encode(message, version, flexible))))


def test_a_field_outside_its_versions_keeps_its_default() -> None:
    assert again(FULL, 0, False) == Sample(1, 7, True, b"bytes", inners=FULL.inners)
    assert again(FULL, 1, False) == Sample(1, 2, True, b"bytes", inners=FULL.inners)
    assert again(FULL, 3, True) == Sample(1, 7, *[getattr(FULL, name) for name in Sample.__slots__[2:]])


def test_neighbours_of_fixed_size_stand_side_by_side() -> None:
    assert encode(Sample(1, 2, True, b""), 1, False) == bytes.fromhex("01 0002 01 00000000 00000000")


def test_tagged_fields_travel_in_order_and_only_when_they_differ() -> None:
    usual = encode(Sample(), 2, True)
    assert usual.endswith(b"\0")
    assert encode(Sample(late="b", early=[1]), 2, True) == usual[:-1] + bytes.fromhex("02 01 03 02 0001 05 02 02 62")


def test_null_is_kept_apart_from_empty() -> None:
    assert again(Sample(blob=None), 2, True).blob is None
    assert again(Sample(blob=b""), 2, True).blob == b""


def test_null_is_refused_by_versions_that_do_not_have_it() -> None:
    with pytest.raises(ValueError, match=r"Sample\.blob cannot be null in version 0"):
        encode(Sample(blob=None), 0, False)
    with pytest.raises(MalformedRequest):
        decode(Sample, 0, False, Reader(memoryview(bytes.fromhex("01 01 ffffffff 00000000"))))


@pytest.mark.parametrize("flexible", [True, False])
def test_a_huge_array_is_refused_before_anything_is_made(flexible: bool) -> None:
    count = "ffffffff07" if flexible else "7fffffff"
    blob = "01" if flexible else "00000000"
    with pytest.raises(MalformedRequest, match="elements promised"):
        decode(Sample, 0, flexible, Reader(memoryview(bytes.fromhex("01 01" + blob + count) + bytes(1000))))


def test_each_message_gets_lists_of_its_own() -> None:
    one, other = Sample(), Sample()
    one.inners.append(Inner())
    assert other.inners == []
