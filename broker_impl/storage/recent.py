"""Where the last batches of the active segment begin, in memory.

Nearly every fetch wants the tail: a follower the batch just appended, a consumer a few behind. They must not go to
the disk to find out where in the file that is. Older positions come from the index.
"""

from array import array
from bisect import bisect_left, bisect_right

_KEEP = 1024


class RecentBatches:
    """Invariant: `bases` and `positions` increase together and describe consecutive batches up to the end of the segment."""

    __slots__ = ("bases", "positions")

    def __init__(self) -> None:
        self.bases = array("q")
        self.positions = array("q")

    def note(self, base_offset: int, position: int) -> None:
        self.bases.append(base_offset)
        self.positions.append(position)
        if len(self.bases) > 2 * _KEEP:
            del self.bases[:_KEEP]
            del self.positions[:_KEEP]

    def clear(self) -> None:
        del self.bases[:]
        del self.positions[:]

    def covers(self, offset: int) -> bool:
        return len(self.bases) > 0 and offset >= self.bases[0]

    def span(self, offset: int, max_bytes: int, limit_offset: int, end: int, *, at_least_one: bool) -> tuple[int, int]:
        """(position, size) of the whole batches from the one that holds the offset; `end`: where the segment ends.

        Only for an offset that is covered and below both the limit and the log's end. Hot path."""
        positions = self.positions
        index = bisect_right(self.bases, offset) - 1
        position = positions[index]
        limit = bisect_left(self.bases, limit_offset)
        stop = positions[limit] if limit < len(positions) else end
        if stop - position > max_bytes:
            fitting = bisect_right(positions, position + max_bytes) - 1
            if fitting > index:
                stop = positions[fitting]
            elif at_least_one:
                stop = positions[index + 1] if index + 1 < len(positions) else end
            else:
                stop = position
        return position, stop - position
