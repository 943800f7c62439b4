"""The header of a record batch."""

from broker_impl.storage.batch import LOG_APPEND_TIME, crc_matches, is_plausible, iterate, parse_header, place, stamp
from broker_impl.storage.records import Record, build_batch, records

CONTENTS = [
    Record(b"one", timestamp=10),
    Record(None, key=b"k", timestamp=30, headers=(("h", b"v"), ("n", None))),
    Record(b"", timestamp=20),
]


def test_a_header_is_read_field_by_field() -> None:
    header = parse_header(build_batch(CONTENTS, base_offset=7, leader_epoch=3, producer_id=9, producer_epoch=2, base_sequence=5))
    assert (header.base_offset, header.last_offset, header.leader_epoch, header.magic) == (7, 9, 3, 2)
    assert (header.base_timestamp, header.max_timestamp, header.record_count) == (10, 30, 3)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 5)


def test_the_checksum_covers_the_records() -> None:
    batch = build_batch(CONTENTS)
    assert crc_matches(memoryview(batch), parse_header(batch))
    batch[-1] ^= 1
    assert not crc_matches(memoryview(batch), parse_header(batch))


def test_placing_changes_offset_and_epoch_and_keeps_the_checksum() -> None:
    batch = build_batch(CONTENTS)
    place(memoryview(batch), parse_header(batch), 1000, 4)
    header = parse_header(batch)
    assert (header.base_offset, header.leader_epoch, header.size) == (1000, 4, len(batch))
    assert crc_matches(memoryview(batch), header)


def test_stamping_gives_every_record_the_leaders_time() -> None:
    batch = build_batch(CONTENTS)
    stamped = stamp(memoryview(batch), parse_header(batch), 12345)
    assert stamped == parse_header(batch)
    assert stamped.attributes & LOG_APPEND_TIME
    assert crc_matches(memoryview(batch), stamped)
    assert {record.timestamp for record in records(batch)} == {12345}


def test_a_walk_ends_at_a_batch_that_is_cut_off() -> None:
    one, two = build_batch(CONTENTS), build_batch(CONTENTS[:1])
    assert [position for position, _header in iterate(memoryview(one + two))] == [0, len(one)]
    assert [position for position, _header in iterate(memoryview(one + two)[:-1])] == [0]


def test_a_walk_ends_at_a_length_that_cannot_be_true() -> None:
    batch = build_batch(CONTENTS)
    batch[8:12] = (5).to_bytes(4, "big")
    assert not is_plausible(parse_header(batch))
    assert list(iterate(memoryview(batch))) == []


def test_zeros_are_no_batch() -> None:
    assert list(iterate(memoryview(bytes(500)))) == []
