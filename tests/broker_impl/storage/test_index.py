"""The sparse indexes."""

from broker_impl.storage.index import OffsetIndex, TimeIndex
from tests.broker_impl.forgetful_disk import ForgetfulDisk


def offset_index(disk: ForgetfulDisk, max_bytes: int = 800) -> OffsetIndex:
    return OffsetIndex(disk, "/i", 100, 0, max_bytes)


def test_a_look_up_finds_the_last_entry_not_above_the_target() -> None:
    index = offset_index(ForgetfulDisk())
    for offset, position in ((105, 50), (110, 90), (120, 200)):
        index.append(offset, position)
    assert [index.position_for(offset) for offset in (100, 104, 105, 109, 110, 119, 120, 999)] == [0, 0, 50, 50, 90, 90, 200, 200]


def test_entries_are_what_kafka_writes() -> None:
    disk = ForgetfulDisk()
    index = offset_index(disk)
    index.append(105, 50)
    index.trim()
    assert disk.read("/i") == bytes([0, 0, 0, 5, 0, 0, 0, 50])


def test_the_file_has_its_largest_size_while_written_and_ends_with_the_last_entry_when_trimmed() -> None:
    disk = ForgetfulDisk()
    index = offset_index(disk)
    index.append(105, 50)
    assert len(disk.read("/i")) == 800
    index.trim()
    assert len(disk.read("/i")) == 8


def test_a_trimmed_index_goes_on_where_it_was() -> None:
    disk = ForgetfulDisk()
    index = offset_index(disk)
    index.append(105, 50)
    index.trim()
    again = OffsetIndex(disk, "/i", 100, 8, 800)
    again.append(110, 90)
    assert (again.count, again.position_for(107), again.position_for(111)) == (2, 50, 90)


def test_an_index_is_full_before_its_last_slot_is_used() -> None:
    index = offset_index(ForgetfulDisk(), max_bytes=24)
    index.append(101, 1)
    assert not index.is_full
    index.append(102, 2)
    assert index.is_full
    assert index.reserve()


def test_cutting_drops_entries_at_and_behind_the_offset() -> None:
    index = offset_index(ForgetfulDisk())
    for offset in (105, 110, 120):
        index.append(offset, offset)
    index.cut_from(110)
    assert (index.count, index.last_entry()) == (1, (5, 105))


def test_a_full_disk_is_told_before_anything_is_written() -> None:
    disk = ForgetfulDisk()
    index = offset_index(disk)
    index.append(105, 50)
    disk.room = 0
    assert not index.reserve()


def test_the_time_index_takes_growing_timestamps_only() -> None:
    index = TimeIndex(ForgetfulDisk(), "/t", 100, 0, 1200)
    for timestamp, offset in ((50, 101), (50, 102), (40, 103), (60, 104)):
        index.append_if_later(timestamp, offset)
    assert [index.entry_at(slot) for slot in range(index.count)] == [(50, 1), (60, 4)]


def test_a_search_by_time_starts_where_nothing_earlier_can_be_late_enough() -> None:
    index = TimeIndex(ForgetfulDisk(), "/t", 100, 0, 1200)
    index.append_if_later(50, 101)
    index.append_if_later(60, 104)
    assert [index.offset_below(timestamp) for timestamp in (10, 50, 51, 60, 61)] == [100, 100, 101, 101, 104]
