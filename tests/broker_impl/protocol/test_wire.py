"""Primitives: what is written is read back, and no length is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_impl.protocol.wire import MAX_TAGS, MalformedRequest, Reader, length, read_uvarint, skip_tags, string, uvarint


def reader_of(data: bytes, max_elements: int = 1000) -> Reader:
    return Reader(memoryview(data), max_elements=max_elements)


@given(st.integers(0, 0xFFFF_FFFF))
def test_a_varint_is_read_back(value: int) -> None:
    data = uvarint(value)
    assert read_uvarint(memoryview(b"x" + data + b"y"), 1) == (value, len(data) + 1)


@given(st.none() | st.text(max_size=200), st.booleans())
def test_a_string_is_read_back(value: str | None, flexible: bool) -> None:
    reader = reader_of(string(value, flexible))
    assert reader.nullable_text(flexible) == value
    assert reader.remaining == 0


@given(st.integers(-1, 1 << 30), st.booleans())
def test_a_length_is_read_back(count: int, flexible: bool) -> None:
    assert reader_of(length(count, flexible)).length(flexible) == count


@pytest.mark.parametrize("data", ["", "80", "ffffffff", "ffffffffff01", "ffffffff1f", "8080808080"])
def test_a_varint_that_does_not_end_or_is_too_large_is_malformed(data: str) -> None:
    with pytest.raises(MalformedRequest):
        read_uvarint(memoryview(bytes.fromhex(data)), 0)


@pytest.mark.parametrize("size", [-1, 4, 1 << 31])
def test_more_bytes_than_there_are_cannot_be_taken(size: int) -> None:
    with pytest.raises(MalformedRequest):
        reader_of(b"abc").take(size)


@pytest.mark.parametrize("position", [-1, 4])
def test_a_reader_starts_inside_its_frame(position: int) -> None:
    with pytest.raises(MalformedRequest):
        Reader(memoryview(b"abc"), position)


@pytest.mark.parametrize("data", ["fffffffe", "80000000"])
def test_a_length_below_null_is_malformed(data: str) -> None:
    with pytest.raises(MalformedRequest):
        reader_of(bytes.fromhex(data)).length(flexible=False)


def test_an_array_cannot_promise_more_elements_than_bytes_are_left() -> None:
    reader = reader_of(bytes(100))
    reader.claim(25, 4)
    with pytest.raises(MalformedRequest):
        reader.claim(26, 4)


def test_all_arrays_of_a_message_share_one_limit() -> None:
    reader = reader_of(bytes(100), max_elements=30)
    reader.claim(20, 1)
    with pytest.raises(MalformedRequest):
        reader.claim(20, 1)


def test_a_string_that_is_not_utf_8_is_malformed() -> None:
    with pytest.raises(MalformedRequest):
        reader_of(b"\xff\xfe").text(2)


def test_a_string_too_long_for_an_old_version_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="32767"):
        string("x" * 40_000, flexible=False)


def test_skipping_tags_ends_after_the_last_one() -> None:
    section = uvarint(2) + uvarint(0) + uvarint(3) + b"abc" + uvarint(300) + uvarint(0)
    assert skip_tags(memoryview(section + b"rest"), 0) == len(section)


@pytest.mark.parametrize("section", [uvarint(1), uvarint(1) + b"\0\5abc", uvarint(MAX_TAGS + 1) + bytes(1000), uvarint(0xFFFF_FFFF)])
def test_tags_that_lie_are_malformed(section: bytes) -> None:
    with pytest.raises(MalformedRequest):
        skip_tags(memoryview(section), 0)
    with pytest.raises(MalformedRequest):
        list(reader_of(section).tags())
