"""When the active segment is full: by size, by age, by its indexes, or because offsets no longer fit the index."""

from broker_impl.storage.segment import MAX_RELATIVE_OFFSET, Segment
from broker_impl.storage.validation import LogConfig


def must_roll(active: Segment, config: LogConfig, size: int, last_offset: int, max_timestamp: int, wall_ms: int | None) -> bool:
    """Whether a batch of this size, offset and time needs a new segment. Hot path."""
    return active.size > 0 and (
        active.size + size > config.segment_bytes
        or last_offset - active.base_offset > MAX_RELATIVE_OFFSET
        or active.offset_index.is_full
        or active.time_index.is_full
        or _age(active, max_timestamp, wall_ms) > config.segment_ms
    )


def _age(segment: Segment, max_timestamp: int, wall_ms: int | None) -> int:
    """In record time, so that replicas roll alike; by the clock only where records have no time."""
    first = segment.first_timestamp
    if first >= 0:
        return max_timestamp - first
    if wall_ms is None:
        return 0
    segment.created_ms = segment.created_ms or wall_ms
    return wall_ms - segment.created_ms
