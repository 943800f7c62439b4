"""Finds the bytes of a read, and checks one batch, where memory does not know the way: index, then walk."""

from broker_impl.storage.batch import BatchHeader, crc_matches
from broker_impl.storage.segment import Segment
from broker_impl.storage.segments import Segments


def locate(segments: Segments, offset: int, max_bytes: int, limit_offset: int, *, at_least_one: bool) -> tuple[Segment, int, int] | None:
    """(segment, position, size) from the batch that holds the offset; None where no batch does."""
    for segment in segments.from_offset(offset):
        found = segment.find(offset)
        if found is not None:
            position, header = found
            stop = segment.stop_before(limit_offset)
            return segment, position, _fit(segment, position, header, stop, max_bytes, at_least_one)
    return None


def is_intact(segments: Segments, offset: int) -> bool:
    """Whether the batch that holds this offset is there, as its checksum says."""
    for segment in segments.from_offset(offset):
        found = segment.find(offset)
        if found is not None:
            position, header = found
            batch = segment.file.pread(header.size, position)
            return header.base_offset <= offset and len(batch) == header.size and crc_matches(batch, header)
    return False


def _fit(segment: Segment, position: int, header: BatchHeader, stop: int, max_bytes: int, at_least_one: bool) -> int:
    if stop - position <= max_bytes:
        return stop - position
    if header.size > max_bytes:
        return header.size if at_least_one else 0
    indexed = segment.offset_index.batch_start_at_or_below(position + max_bytes)
    return max(indexed - position, 0) or max_bytes
