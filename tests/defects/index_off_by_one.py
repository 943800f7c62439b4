"""The offset index leads to the batch after the right one.

Stands for an off-by-one in an index search. Whoever reads at the tail notices nothing; whoever
seeks into older data misses a batch.

Exposed without any fault, by seeks to random offsets and by the final reads.
"""

from broker_impl.plugins import replace
from broker_impl.storage.batch import BatchHeader
from broker_impl.storage.segment import Segment

ARM = "cluster"
PLAN = "calm"
ANOMALIES = ("lost", "poll-skip", "int-poll-skip", "unseen")


def install() -> None:
    sound = replace("broker_impl.storage.reading:locate", None)
    find = Segment.find

    def found_next(self: Segment, offset: int) -> tuple[int, BatchHeader] | None:
        found = find(self, offset)
        if found is None:
            return None
        position, header = found
        return next(((at, behind) for at, behind in self.headers(position + header.size)), found)

    def locate(segments, offset, max_bytes, limit_offset, *, at_least_one):
        Segment.find = found_next  # type: ignore[method-assign]
        try:
            return sound(segments, offset, max_bytes, limit_offset, at_least_one=at_least_one)
        finally:
            Segment.find = find  # type: ignore[method-assign]

    replace("broker_impl.storage.log:locate", locate)
