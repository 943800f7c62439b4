"""The segments of a log in order, the last of them being written.

Sealed ones are opened when somebody reads them and put to rest when others were read since: descriptors and mappings
are limited, and a consumer that reads a long log from its beginning passes every segment once.
"""

from bisect import bisect_right
from collections.abc import Iterator

from broker_impl.storage.segment import Segment

_AWAKE = 8


class Segments:
    """Invariant: at least one; base offsets strictly increase."""

    __slots__ = ("_awake", "_bases", "_list", "_sealed_bytes", "active")

    def __init__(self, segments: list[Segment]) -> None:
        assert segments
        self._list = segments
        self._bases = [segment.base_offset for segment in segments]
        self._awake: list[Segment] = []
        self._sealed_bytes = sum(segment.size for segment in segments[:-1])
        self.active = segments[-1]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    @property
    def all(self) -> list[Segment]:
        return self._list

    @property
    def size(self) -> int:
        return self._sealed_bytes + self.active.size

    @property
    def first_base(self) -> int:
        return self._bases[0]

    def ends(self, log_end: int) -> list[int]:
        return [*self._bases[1:], log_end]

    def from_offset(self, offset: int) -> Iterator[Segment]:
        """The one that should hold the offset, and those behind it."""
        for segment in self._list[max(bisect_right(self._bases, offset) - 1, 0) :]:
            self._wake(segment)
            yield segment

    def add(self, segment: Segment) -> None:
        """The one that was active is sealed and rests."""
        self.active.rest()
        self._sealed_bytes += self.active.size
        self._list.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def take_above(self, offset: int) -> list[Segment]:
        """Removes and returns those that begin above the offset; the first always stays."""
        keep = max(bisect_right(self._bases, offset), 1)
        taken = self._list[keep:]
        self._reset(self._list[:keep])
        return taken

    def take_first(self, count: int) -> list[Segment]:
        taken = self._list[:count]
        self._reset(self._list[count:])
        return taken

    def replace(self, segment: Segment) -> list[Segment]:
        """This one alone; returns those that were."""
        taken = self._list
        self._reset([segment])
        return taken

    def rest(self) -> None:
        for segment in self._list:
            segment.rest()
        self._awake.clear()

    def _reset(self, segments: list[Segment]) -> None:
        assert segments
        self._list = segments
        self._bases = [segment.base_offset for segment in segments]
        self._awake = [segment for segment in self._awake if segment in segments]
        self._sealed_bytes = sum(segment.size for segment in segments[:-1])
        self.active = segments[-1]

    def _wake(self, segment: Segment) -> None:
        if segment is self.active or (self._awake and self._awake[-1] is segment):
            return
        if segment in self._awake:
            self._awake.remove(segment)
        self._awake.append(segment)
        if len(self._awake) > _AWAKE:
            resting = self._awake.pop(0)
            if resting is not self.active:
                resting.rest()
