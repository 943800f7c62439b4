"""Batches and records read from bytes laid out by hand."""

import struct

from crc32c import crc32c

from harness.systems.log_dump import batches_in, read_replica


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


def test_every_batch_and_record_is_found_across_segments():
    found = read_replica("n1", "t", 0, [batch(0, b"10", b"11"), batch(2, b"12") + batch(3, b"13")], 4, int)
    assert [(row.base_offset, row.last_offset, row.leader_epoch) for row in found.batches] == [(0, 1, 3), (2, 2, 3), (3, 3, 3)]
    assert [(row.offset, row.value) for row in found.records] == [(0, 10), (1, 11), (2, 12), (3, 13)]
    [first, *_] = found.batches
    assert (first.producer_id, first.producer_epoch, first.sequence, first.high_watermark, first.log_end) == (77, 5, 40, 4, 4)
    assert first.bytes == len(batch(0, b"10", b"11"))


def test_the_checksum_is_that_of_the_bytes_found():
    whole = batch(0, b"10")
    damaged = bytearray(whole)
    damaged[-2] ^= 1
    [before], [after] = batches_in(whole), batches_in(bytes(damaged))
    assert before.crc == struct.unpack_from(">I", whole, 17)[0]
    assert after.crc != before.crc


def test_a_walk_ends_at_a_batch_that_is_cut_off():
    assert [found.base_offset for found in batches_in(batch(0, b"1") + batch(1, b"2")[:-1])] == [0]


def test_compressed_batches_are_counted_and_their_records_not_guessed():
    found = read_replica("n1", "t", 0, [batch(0, b"10", attributes=4) + batch(1, b"11")], None, int)
    assert (len(found.batches), found.compressed, [row.offset for row in found.records]) == (2, 1, [1])


def test_control_records_and_empty_payloads_have_no_value():
    found = read_replica("n1", "t", 0, [batch(0, b"10", attributes=0x20), batch(1, None)], None, int)
    assert [(row.offset, row.value) for row in found.records] == [(0, None), (1, None)]
