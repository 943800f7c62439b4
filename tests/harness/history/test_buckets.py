import pytest
from crc32c import crc32c

from harness.history.buckets import bucket_of


@pytest.mark.parametrize("topic, part, bucket", [("t", 0, 15), ("t", 1, 12), ("grüße", 7, 4), ("", 0, 7), ("t", 2**31 - 1, 8)])
def test_the_bucket_of_a_partition_is_part_of_the_format_and_never_changes(topic, part, bucket):
    assert bucket_of(topic, part, 32) == bucket


def test_it_is_the_checksum_of_topic_and_big_endian_partition():
    assert bucket_of("topic", 258, 1000) == crc32c(b"topic\x00\x00\x01\x02") % 1000


def test_rows_without_a_partition_have_a_bucket_of_their_own():
    assert bucket_of(None, None) == bucket_of("t", None) == -1
