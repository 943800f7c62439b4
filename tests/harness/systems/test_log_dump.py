"""Batches and records read from bytes laid out by hand."""

import struct

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.systems.log_dump import read_replica


def varint(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def record(delta: int, value: bytes | None, key: bytes | None = None) -> bytes:
    fields = [bytes(1), varint(1_000_000), varint(delta)]
    for part in (key, value):
        fields.append(varint(-1) if part is None else varint(len(part)) + part)
    body = b"".join(fields) + varint(0)
    return varint(len(body)) + body


def batch(base: int, *values: bytes | None, attributes: int = 0, epoch: int = 3) -> bytes:
    records = b"".join(record(number, value, key=b"k" * 200) for number, value in enumerate(values))
    checked = struct.pack(">hiqqqhii", attributes, len(values) - 1, 0, 0, 77, 5, 40, len(values)) + records
    return struct.pack(">qiibI", base, len(checked) + 9, epoch, 2, crc32c(checked)) + checked


def read(*segments: bytes, high_watermark: int | None = None):
    return read_replica("n1", "t", 0, segments, high_watermark, int)


def rows(columns, *names: str) -> list[tuple]:
    return list(zip(*(list(columns[name]) for name in names), strict=True))


def test_every_batch_and_record_is_found_across_segments():
    first = batch(0, b"10", b"11")
    found = read(first, batch(2, b"12") + batch(3, b"13"), high_watermark=4)
    assert rows(found.batches, "base_offset", "last_offset", "leader_epoch") == [(0, 1, 3), (2, 2, 3), (3, 3, 3)]
    assert rows(found.records, "offset", "value") == [(0, 10), (1, 11), (2, 12), (3, 13)]
    assert rows(found.batches, "producer_id", "producer_epoch", "sequence", "high_watermark", "log_end")[0] == (77, 5, 40, 4, 4)
    assert found.batches["bytes"][0] == len(first)


def test_records_keep_their_order_where_batches_have_different_lengths():
    values = [[b"%d" % (100 * number + place) for place in range(number)] for number in (3, 1, 7, 300, 2)]
    found = read(b"".join(batch(1000 * number, *each) for number, each in enumerate(values)))
    expected = [(1000 * number + place, int(value)) for number, each in enumerate(values) for place, value in enumerate(each)]
    assert rows(found.records, "offset", "value") == expected


def test_a_replica_without_a_batch_is_empty():
    for found in (read(), read(b""), read(batch(0, b"1")[:60])):
        assert (len(found.batches["crc"]), len(found.records["offset"]), found.records["value"]) == (0, 0, [])


def test_the_checksum_is_that_of_the_bytes_found():
    whole = batch(0, b"10")
    damaged = bytearray(whole)
    damaged[61] ^= 1
    before, after = (read(data).batches["crc"][0] for data in (whole, bytes(damaged)))
    assert before == struct.unpack_from(">I", whole, 17)[0]
    assert after != before


def test_a_walk_ends_at_a_batch_that_is_cut_off():
    assert list(read(batch(0, b"1") + batch(1, b"2")[:-1]).batches["base_offset"]) == [0]


@pytest.mark.parametrize("at, byte", [(16, 1), (0, 0x80), (23, 0x80)], ids=["another version", "no offset", "no record"])
def test_a_walk_ends_at_a_batch_that_is_none(at, byte):
    strange = bytearray(batch(1, b"2"))
    strange[at] = byte
    assert list(read(batch(0, b"1") + bytes(strange) + batch(2, b"3")).batches["base_offset"]) == [0]


def test_the_rest_of_a_damaged_batch_is_not_guessed_and_the_next_one_is_read():
    damaged = bytearray(batch(0, b"10", b"11", b"12"))
    size = len(record(0, b"10", key=b"k" * 200))
    damaged[61 + size : 61 + size + 2] = b"\xff\x7f"
    found = read(bytes(damaged) + batch(3, b"13"))
    assert rows(found.records, "offset", "value") == [(0, 10), (3, 13)]


@settings(max_examples=300)
@given(st.binary(min_size=1, max_size=120), st.integers(0, 400))
def test_no_damage_makes_the_walk_fail(garbage, at):
    data = bytearray(batch(0, b"10", b"11") + batch(2, b"12"))
    data[61 + at : 61 + at + len(garbage)] = garbage
    read_replica("n1", "t", 0, [bytes(data)], None, len)


def test_compressed_batches_are_counted_and_their_records_not_guessed():
    found = read(batch(0, b"10", attributes=4) + batch(1, b"11"))
    assert (len(found.batches["crc"]), found.compressed, list(found.records["offset"])) == (2, 1, [1])


def test_control_records_and_empty_payloads_have_no_value():
    found = read(batch(0, b"10", attributes=0x20), batch(1, None))
    assert rows(found.records, "offset", "value") == [(0, None), (1, None)]
