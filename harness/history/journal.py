"""The slots of a worker as one endless row, though they lie in segments of a fixed size.

A slot's number is the caller's for as long as the slot is open, wherever it has moved to by then. When a segment is full, the open slots
are copied to the next before anything else happens there, and the full one is never written again: so the background may
read it, and a crash in between leaves no slot in doubt (`segment`).
"""

from __future__ import annotations

from mmap import mmap
from pathlib import Path

from harness.history.convert import NONE_MOVED
from harness.history.errors import HistoryError
from harness.history.names import Names
from harness.history.sealing import Sealing
from harness.history.segment import HEADER_SIZE, Header, Segment
from harness.history.slots import OUTCOME_AT, SLOT_SIZE


class Journal:
    """Of the current segment, the slots before `_next` are taken; the number of one taken here is `_base` plus its position.

    Those at the front came from older segments: `_carried` has their numbers in the order of the slots, `_moved` the position by number.
    Nothing is to be checked in the hot path before `_next` reaches `_mark`: there the next segment is ordered, and at the end entered.
    """

    def __init__(self, run: Path, worker: int, buckets: int, capacity: int, names: Names) -> None:
        self._sealing = Sealing(run)
        self._capacity = capacity
        self._names = names
        self._closed = False
        self._base = 0
        self._next = 0
        self._mark = 0
        self._carried: list[int] = []
        self._moved: dict[int, int] = {}
        self._enter(self._sealing.take(Header(worker, 0, capacity, buckets)), [])

    def room(self) -> int:
        """Where in `map` the next slot is to be written."""
        if self._next >= self._mark:
            self._make_room()
        return HEADER_SIZE + self._next * SLOT_SIZE

    def taken(self) -> int:
        """The slot in `room` was written: the answer is its number."""
        position = self._next
        self._next = position + 1
        return self._base + position

    def find(self, number: int) -> int:
        """Where in `map` an open slot lies now."""
        position = number - self._base
        if position < 0:
            position = self._moved.get(number, self._next)
        at = HEADER_SIZE + position * SLOT_SIZE
        if position >= self._next or self.map[at + OUTCOME_AT]:
            raise HistoryError(f"slot {number} is not open: it was completed before, or the recorder is closed")
        return at

    def close(self) -> None:
        """Everything is converted, what is open as `info`. Where that fails, segments and names stay."""
        if self._closed:
            return
        self._closed = True
        self._sealing.seal(self._segment, NONE_MOVED, self._names.listed())
        self._base += self._next
        self._next = self._mark = 0
        self._moved = {}
        clean = False
        try:
            self._sealing.close()
            clean = True
        finally:
            self._names.close(remove=clean)

    def _make_room(self) -> None:
        if self._closed:
            raise HistoryError("the recorder is closed")
        if self._next == self._segment.header.capacity:
            self._roll()
        old = self._segment.header
        self._sealing.order(Header(old.worker, old.number + 1, self._capacity, old.buckets))
        self._mark = old.capacity

    def _roll(self) -> None:
        """Nothing is changed before what may fail is over, so a caller may try again."""
        self._sealing.settle()
        full = self._segment
        still_open = full.open_slots()
        numbers = [self._carried[at] if at < len(self._carried) else self._base + at for at in still_open.tolist()]
        old = full.header
        fresh = self._sealing.take(Header(old.worker, old.number + 1, max(self._capacity, 2 * len(numbers)), old.buckets))
        fresh.take_over(full, still_open)
        self._sealing.seal(full, still_open, self._names.listed())
        self._base += old.capacity
        self._enter(fresh, numbers)

    def _enter(self, segment: Segment, carried: list[int]) -> None:
        assert len(carried) < segment.header.capacity, "a segment has room for more than it took over"
        self._segment = segment
        self.map: mmap = segment.mapped
        self._carried = carried
        self._moved = {number: position for position, number in enumerate(carried)}
        self._next = len(carried)
        self._mark = max(self._next, segment.header.capacity * 3 // 4)
