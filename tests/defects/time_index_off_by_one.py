"""A look-up by time begins one segment too late.

Stands for time indexes that disagree with their segments. Consumers that rewind to a time start behind it and
miss what lies between.

Exposed without any fault, by look-ups by time in a log of several segments.
"""

from collections.abc import Sequence
from typing import Any

from broker_impl.plugins import replace
from broker_impl.storage.segment import Segment

ARM = "cluster"
PLAN = "calm"
ANOMALIES = ("stale-time-index",)


def install() -> None:
    sound = replace("broker_impl.storage.time_lookup:first_at_or_after", None)

    def first_at_or_after(segments: Sequence[Segment], timestamp: int, start_offset: int) -> Any:
        late = [segment for segment in segments if segment.size and segment.max_timestamp >= timestamp]
        return sound(late[1:] or late, timestamp, start_offset)

    replace("broker_impl.storage.log:first_at_or_after", first_at_or_after)
