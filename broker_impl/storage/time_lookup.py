"""Which record was the first at or after a time, and which has the latest time.

The time index leads to a batch, the batch's header says whether its largest timestamp is late enough. Inside the
batch the records themselves are read if they are not compressed; of a compressed batch the broker knows the first
offset and no more, so that is the answer: it may be early by less than a batch, never late.
"""

from collections.abc import Sequence
from typing import NamedTuple

from broker_impl.storage.batch import LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from broker_impl.storage.records import MalformedRecord, Record, records
from broker_impl.storage.segment import Segment


class TimeAndOffset(NamedTuple):
    timestamp: int
    offset: int
    epoch: int


def first_at_or_after(segments: Sequence[Segment], timestamp: int, start_offset: int) -> TimeAndOffset | None:
    for segment in segments:
        if segment.size and segment.max_timestamp >= timestamp:
            found = _search(segment, timestamp, start_offset)
            if found is not None:
                return found
    return None


def latest(segments: Sequence[Segment]) -> TimeAndOffset | None:
    """Of equal timestamps the first."""
    best = max((segment for segment in segments if segment.size), key=lambda segment: segment.max_timestamp, default=None)
    if best is None or best.max_timestamp == NO_TIMESTAMP:
        return None
    found = best.find(best.max_timestamp_offset)
    if found is None:
        return None
    position, header = found
    for record in _readable(best, position, header):
        if record.timestamp == header.max_timestamp:
            return TimeAndOffset(record.timestamp, record.offset, header.leader_epoch)
    return TimeAndOffset(header.max_timestamp, header.last_offset, header.leader_epoch)


def _search(segment: Segment, timestamp: int, start_offset: int) -> TimeAndOffset | None:
    low = max(segment.time_index.offset_below(timestamp), start_offset)
    for position, header in segment.headers(segment.offset_index.position_for(low)):
        if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
            found = _search_batch(segment, position, header, timestamp, start_offset)
            if found is not None:
                return found
    return None


def _search_batch(segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int) -> TimeAndOffset | None:
    if header.attributes & LOG_APPEND_TIME or header.codec:
        known = header.max_timestamp if header.attributes & LOG_APPEND_TIME else max(header.base_timestamp, timestamp)
        return TimeAndOffset(known, max(header.base_offset, start_offset), header.leader_epoch)
    for record in _readable(segment, position, header):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimeAndOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def _readable(segment: Segment, position: int, header: BatchHeader) -> list[Record]:
    """None of them where the bytes are not what the header promises: a client's own nonsense is no reason to fail."""
    try:
        return records(segment.file.pread(header.size, position))
    except (MalformedRecord, ValueError):
        return []
