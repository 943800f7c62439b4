"""What a leader refuses to write. Everything here is decided from the header: records stay opaque.

The order matters only where two things are wrong at once; sizes come first, because nothing else in a batch can be
believed before its length and checksum are known to be right.
"""

from dataclasses import dataclass

from crc32c import crc32c

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.storage.batch import (
    CHECKSUMMED_FROM,
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    parse_header,
)

FOREVER = 2**63 - 1
_CODECS = 5
_SMALLEST_RECORD = 7


@dataclass(frozen=True, slots=True)
class LogConfig:
    """A topic's settings as far as its logs care; times in milliseconds. Positions in a segment fit into 32 bits."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000
    index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * 24 * 3_600_000
    retention_bytes: int = -1
    max_message_bytes: int = 1_048_588
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    timestamp_type: str = "CreateTime"
    timestamp_before_max_ms: int = FOREVER
    timestamp_after_max_ms: int = 3_600_000
    file_delete_delay_ms: int = 60_000
    cleanup_policy: str = "delete"


def validate(batches: memoryview, config: LogConfig, wall_ms: int) -> BatchHeader:
    """Exactly one batch that may be appended, or a BrokerError. Hot path."""
    size = len(batches)
    if size < HEADER_SIZE:
        raise _empty_or_short(size)
    header = parse_header(batches)
    if header.magic != MAGIC:
        raise BrokerError(ErrorCode.INVALID_RECORD, f"record batches of version 2 only, this one says {header.magic}")
    if header.length != size - 12:
        raise _wrong_length(header, size)
    if size > config.max_message_bytes:
        raise BrokerError(ErrorCode.MESSAGE_TOO_LARGE, f"the batch has {size} bytes, the topic takes {config.max_message_bytes}")
    if size > config.segment_bytes:
        raise BrokerError(ErrorCode.RECORD_LIST_TOO_LARGE, f"the batch has {size} bytes, a segment {config.segment_bytes}")
    if crc32c(batches[CHECKSUMMED_FROM:]) != header.crc:
        raise BrokerError(ErrorCode.CORRUPT_MESSAGE, "the checksum does not match")
    if header.record_count < 1 or header.last_delta != header.record_count - 1:
        raise BrokerError(ErrorCode.INVALID_RECORD, f"{header.record_count} records but a last offset delta of {header.last_delta}")
    if not header.attributes & CODEC_MASK and header.record_count * _SMALLEST_RECORD > size - HEADER_SIZE:
        raise BrokerError(ErrorCode.INVALID_RECORD, f"{size} bytes cannot hold {header.record_count} records")
    if header.attributes & (CONTROL | TRANSACTIONAL | CODEC_MASK):
        _validate_attributes(header.attributes)
    if header.producer_id != NO_PRODUCER and (header.producer_id < 0 or header.producer_epoch < 0 or header.base_sequence < 0):
        raise BrokerError(ErrorCode.INVALID_RECORD, "a producer id needs an epoch and a sequence number")
    if config.timestamp_type == "CreateTime":
        _validate_timestamps(header, config, wall_ms)
    return header


def _empty_or_short(size: int) -> BrokerError:
    if size == 0:
        return BrokerError(ErrorCode.INVALID_RECORD, "a produce request needs one record batch a partition")
    return BrokerError(ErrorCode.CORRUPT_MESSAGE, f"{size} bytes are no record batch")


def _wrong_length(header: BatchHeader, size: int) -> BrokerError:
    if HEADER_SIZE <= header.size < size:
        return BrokerError(ErrorCode.INVALID_RECORD, "exactly one record batch a partition in a produce request")
    return BrokerError(ErrorCode.CORRUPT_MESSAGE, f"the batch says it has {header.size} bytes, {size} were sent")


def _validate_attributes(attributes: int) -> None:
    if attributes & CONTROL:
        raise BrokerError(ErrorCode.INVALID_RECORD, "clients write no control records")
    if attributes & TRANSACTIONAL:
        raise BrokerError(ErrorCode.INVALID_TXN_STATE, "this partition is in no transaction")
    if attributes & CODEC_MASK >= _CODECS:
        raise BrokerError(ErrorCode.INVALID_RECORD, f"codec {attributes & CODEC_MASK} is not known")


def _validate_timestamps(header: BatchHeader, config: LogConfig, wall_ms: int) -> None:
    if header.attributes & LOG_APPEND_TIME:
        raise BrokerError(ErrorCode.INVALID_TIMESTAMP, "only the leader sets LogAppendTime")
    if header.max_timestamp != NO_TIMESTAMP and header.max_timestamp - wall_ms > config.timestamp_after_max_ms:
        raise BrokerError(ErrorCode.INVALID_TIMESTAMP, f"{header.max_timestamp} lies too far ahead of {wall_ms}")
    if header.base_timestamp != NO_TIMESTAMP and wall_ms - header.base_timestamp > config.timestamp_before_max_ms:
        raise BrokerError(ErrorCode.INVALID_TIMESTAMP, f"{header.base_timestamp} lies too far behind {wall_ms}")
