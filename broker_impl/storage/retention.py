"""Which segments have outlived their topic's settings. A decision only; the log carries it out.

Whole segments, the oldest first, and never one that reaches above the high watermark: a follower may still be told
to truncate to what it holds.
"""

from collections.abc import Sequence

from broker_impl.storage.batch import NO_TIMESTAMP
from broker_impl.storage.segment import Segment
from broker_impl.storage.validation import LogConfig


def expired(
    segments: Sequence[Segment], ends: Sequence[int], start_offset: int, high_watermark: int, wall_ms: int, config: LogConfig
) -> int:
    """How many of the oldest segments may go; `ends[i]` is the offset after segment i."""
    excess = sum(segment.size for segment in segments) - config.retention_bytes if config.retention_bytes >= 0 else -1
    deleting = "delete" in config.cleanup_policy
    count = 0
    for segment, end in zip(segments, ends, strict=True):
        below_start = end <= start_offset and count < len(segments) - 1
        too_many = deleting and 0 < segment.size <= excess
        if end > high_watermark or not (below_start or too_many or (deleting and _too_old(segment, wall_ms, config))):
            break
        excess -= segment.size
        count += 1
    return count


def _too_old(segment: Segment, wall_ms: int, config: LogConfig) -> bool:
    if config.retention_ms < 0 or not segment.size or segment.max_timestamp == NO_TIMESTAMP:
        return False
    return wall_ms - segment.max_timestamp > config.retention_ms
