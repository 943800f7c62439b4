"""A hierarchical timing wheel: many deadlines, most of which are cancelled before they come.

Nearly every parked request is answered by an event, not by its time-out, so adding and cancelling must cost O(1)
whatever number is parked; a heap would keep the cancelled ones until their time. The first wheel has one bucket a
tick; what lies beyond its span goes to the next, whose tick is the span of the one below, and comes down a level when
the clock reaches its bucket.

The trap: a bucket of an upper wheel begins before the deadlines in it, so `next_deadline_ms` may name a time at which
nothing is due yet, only to be moved down. Time is an argument; a clock that runs back is taken to stand still.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


class TimerEntry(Generic[T]):
    """One deadline. An entry is in at most one bucket: it leaves it by `cancel` or when the clock passes it."""

    __slots__ = ("_bucket", "cancelled", "deadline_ms", "item")

    def __init__(self, deadline_ms: int, item: T) -> None:
        self.deadline_ms = deadline_ms
        self.item = item
        self.cancelled = False
        self._bucket: dict[TimerEntry[T], None] | None = None

    def cancel(self) -> None:
        """Harmless after the entry came due; the caller of `advance` then still sees `cancelled`."""
        self.cancelled = True
        if self._bucket is not None:
            del self._bucket[self]
            self._bucket = None


class TimingWheel(Generic[T]):
    """Invariant: a wheel holds only entries whose bucket lies in its span from the clock on, so a bucket never mixes turns."""

    def __init__(self, tick_ms: int = 1, size: int = 20, now_ms: int = 0) -> None:
        assert tick_ms > 0
        assert size > 1
        self.clock_ms = now_ms
        self._size = size
        self._levels: list[_Level[T]] = [_Level(tick_ms, size)]

    def add(self, deadline_ms: int, item: T) -> TimerEntry[T]:
        entry = TimerEntry(deadline_ms, item)
        self._place(entry)
        return entry

    def next_deadline_ms(self) -> int | None:
        """When to call `advance` next: never later than the earliest deadline, sometimes earlier (see above)."""
        first = self._first_bucket()
        return None if first is None else max(first[0], self.clock_ms)

    def advance(self, now_ms: int) -> list[TimerEntry[T]]:
        """Every entry with a deadline up to `now_ms`, earliest first, each exactly once."""
        due: list[TimerEntry[T]] = []
        while (first := self._first_bucket()) is not None and first[0] <= max(now_ms, self.clock_ms):
            start_ms, level, bucket = first
            self.clock_ms = max(self.clock_ms, start_ms)
            entries = list(bucket)
            bucket.clear()
            for entry in entries:
                entry._bucket = None
                if level == 0:
                    due.append(entry)
                else:
                    self._place(entry)
        self.clock_ms = max(self.clock_ms, now_ms)
        return due

    def __len__(self) -> int:
        return sum(len(bucket) for level in self._levels for bucket in level.buckets)

    def _place(self, entry: TimerEntry[T]) -> None:
        """Into the lowest wheel that reaches the deadline; a deadline already past goes to the bucket of the present tick."""
        clock_ms = self.clock_ms
        deadline_ms = max(entry.deadline_ms, clock_ms)
        for level in self._levels:
            tick_ms = level.tick_ms
            slot = deadline_ms // tick_ms
            if slot - clock_ms // tick_ms < self._size:
                break
        else:
            level, slot = self._grow(deadline_ms)
        bucket = level.buckets[slot % self._size]
        bucket[entry] = None
        entry._bucket = bucket

    def _grow(self, deadline_ms: int) -> "tuple[_Level[T], int]":
        while True:
            level: _Level[T] = _Level(self._levels[-1].tick_ms * self._size, self._size)
            self._levels.append(level)
            slot = deadline_ms // level.tick_ms
            if slot - self.clock_ms // level.tick_ms < self._size:
                return level, slot

    def _first_bucket(self) -> tuple[int, int, dict[TimerEntry[T], None]] | None:
        """The non-empty bucket that begins first; of two that begin together the upper, whose entries then sort in below."""
        best: tuple[int, int, dict[TimerEntry[T], None]] | None = None
        for number, level in enumerate(self._levels):
            slot = self.clock_ms // level.tick_ms
            for ahead in range(self._size):
                bucket = level.buckets[(slot + ahead) % self._size]
                if bucket:
                    start_ms = (slot + ahead) * level.tick_ms
                    if best is None or start_ms <= best[0]:
                        best = (start_ms, number, bucket)
                    break
        return best


class _Level(Generic[T]):
    __slots__ = ("buckets", "tick_ms")

    def __init__(self, tick_ms: int, size: int) -> None:
        self.tick_ms = tick_ms
        self.buckets: list[dict[TimerEntry[T], None]] = [{} for _ in range(size)]
