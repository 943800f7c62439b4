"""Text checkpoints: as Kafka writes them, and never half a truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_impl.storage.checkpoints import Malformed, OffsetCheckpoint, format_lines, parse_lines
from tests.broker_impl.forgetful_disk import ForgetfulDisk


def test_the_file_has_version_count_and_one_line_a_partition() -> None:
    disk = ForgetfulDisk()
    OffsetCheckpoint(disk, "/c").write({("topic", 1): 20, ("topic", 0): 10})
    assert disk.read("/c") == b"0\n2\ntopic 0 10\ntopic 1 20\n"
    assert OffsetCheckpoint(disk, "/c").read() == {("topic", 0): 10, ("topic", 1): 20}


def test_no_file_means_nothing_remembered() -> None:
    assert OffsetCheckpoint(ForgetfulDisk(), "/c").read() == {}


def test_the_same_content_is_not_written_twice() -> None:
    disk = ForgetfulDisk()
    checkpoint = OffsetCheckpoint(disk, "/c")
    checkpoint.write({("topic", 0): 1})
    before = disk.syncs
    checkpoint.write({("topic", 0): 1})
    assert disk.syncs == before


@given(rows=st.lists(st.integers(0, 10**6), min_size=1, max_size=5), cut=st.floats(0, 1, exclude_max=True))
def test_a_file_that_lost_its_tail_does_not_parse(rows: list[int], cut: float) -> None:
    data = format_lines([f"{row} {row}" for row in rows])
    with pytest.raises(Malformed):
        parse_lines(data[: int(cut * len(data))], fields=2)


@pytest.mark.parametrize("data", [b"", b"1\n0\n", b"0\nx\n", b"0\n1\na b\n", b"0\n-1\n", b"\xff\xfe\n"])
def test_what_is_no_checkpoint_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        parse_lines(data, fields=3)
