"""What a leader refuses, and with which code."""

import struct
from dataclasses import replace

import pytest
from crc32c import crc32c

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL
from broker_impl.storage.validation import LogConfig, validate
from tests.broker_impl.storage.logs import batch

NOW = 5_000_000
CONFIG = LogConfig()


def altered(at: int, layout: str, value: int, *, seal: bool = True) -> memoryview:
    """A batch with one field of its header changed, its checksum right again."""
    built = batch(count=2, timestamp=NOW)
    struct.pack_into(layout, built, at, value)
    if seal:
        struct.pack_into(">I", built, 17, crc32c(built[21:]))
    return built


def code(batches: memoryview, config: LogConfig = CONFIG) -> ErrorCode:
    with pytest.raises(BrokerError) as refused:
        validate(batches, config, NOW)
    return refused.value.code


def test_a_good_batch_passes() -> None:
    assert validate(batch(count=3, timestamp=NOW), CONFIG, NOW).record_count == 3


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_any_codec_passes_unseen(codec: int) -> None:
    validate(batch(attributes=codec), CONFIG, NOW)


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        (memoryview(b""), ErrorCode.INVALID_RECORD),
        (memoryview(bytes(60)), ErrorCode.CORRUPT_MESSAGE),
        (batch()[:-1], ErrorCode.CORRUPT_MESSAGE),
        (memoryview(bytes(batch()) + bytes(batch())), ErrorCode.INVALID_RECORD),
        (altered(16, ">b", 1), ErrorCode.INVALID_RECORD),
        (altered(8, ">i", -5), ErrorCode.CORRUPT_MESSAGE),
        (altered(8, ">i", 2**31 - 1), ErrorCode.CORRUPT_MESSAGE),
        (altered(8, ">i", 0), ErrorCode.CORRUPT_MESSAGE),
        (altered(17, ">I", 0, seal=False), ErrorCode.CORRUPT_MESSAGE),
        (altered(23, ">i", 5), ErrorCode.INVALID_RECORD),
        (altered(57, ">i", 0), ErrorCode.INVALID_RECORD),
        (altered(57, ">i", -1), ErrorCode.INVALID_RECORD),
        (altered(43, ">q", 7), ErrorCode.INVALID_RECORD),
        (altered(43, ">q", -7), ErrorCode.INVALID_RECORD),
        (batch(attributes=CONTROL), ErrorCode.INVALID_RECORD),
        (batch(attributes=TRANSACTIONAL), ErrorCode.INVALID_TXN_STATE),
        (batch(attributes=5), ErrorCode.INVALID_RECORD),
        (batch(attributes=LOG_APPEND_TIME), ErrorCode.INVALID_TIMESTAMP),
        (batch(timestamp=NOW + 3_600_001), ErrorCode.INVALID_TIMESTAMP),
    ],
)
def test_a_bad_batch_is_refused(batches: memoryview, expected: ErrorCode) -> None:
    assert code(batches) == expected


def test_more_records_than_bytes_can_hold_are_refused() -> None:
    built = batch()
    struct.pack_into(">i", built, 23, 2**31 - 2)
    struct.pack_into(">i", built, 57, 2**31 - 1)
    struct.pack_into(">I", built, 17, crc32c(built[21:]))
    assert code(built) == ErrorCode.INVALID_RECORD


def test_a_batch_larger_than_the_topic_takes_is_too_large() -> None:
    assert code(batch(size=2000), replace(CONFIG, max_message_bytes=1000)) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_larger_than_a_segment_is_too_large() -> None:
    assert code(batch(size=2000), replace(CONFIG, segment_bytes=1000)) == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_batch_too_old_is_refused_where_the_topic_says_so() -> None:
    assert code(batch(timestamp=NOW - 11), replace(CONFIG, timestamp_before_max_ms=10)) == ErrorCode.INVALID_TIMESTAMP


def test_a_topic_with_the_leaders_time_takes_any_timestamp() -> None:
    validate(batch(timestamp=NOW * 100, attributes=LOG_APPEND_TIME), replace(CONFIG, timestamp_type="LogAppendTime"), NOW)
