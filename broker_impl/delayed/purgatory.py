"""Requests that wait: a fetch for bytes, a produce for replicas; ended by an event or by time, exactly once.

An operation is watched under the keys (partitions) whose events may complete it. Whoever changes a partition calls
`check(key)`; the timer ends what no event ended. Everything runs on one loop, so trying, watching and arming form one step
and no event slips in between.

The trap: an operation is often watched under keys that are then hardly ever checked (an idle partition), so ended
operations must not wait there for a check that never comes: ending one takes it out of all its lists, at O(1) a key.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol


class Scheduled(Protocol):
    def cancel(self) -> None: ...


class Timer(Protocol):
    def schedule(self, delay_s: float, callback: Callable[[], None], /) -> Scheduled: ...


class DelayedOperation:
    """Subclass with `try_complete` and `on_complete`. Invariant: `on_complete` runs once, when `done` turns true, and never again."""

    __slots__ = ("_keys", "_purgatory", "_timer", "done", "expired")

    def __init__(self) -> None:
        self.done = False
        self.expired = False
        self._purgatory: Purgatory | None = None
        self._keys: Sequence[Hashable] = ()
        self._timer: Scheduled | None = None

    def try_complete(self) -> bool:
        """Whether what was waited for has come (or never will). May call `complete` itself."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Answer the request; `expired` says whether time ended it."""
        raise NotImplementedError

    def on_expire(self) -> None:
        """Runs before `on_complete` when time ended the operation."""

    def complete(self) -> bool:
        """End the operation now, whatever `try_complete` would say. True for the one call that did it."""
        if self.done:
            return False
        self.done = True
        if self._purgatory is not None:
            self._purgatory._forget(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.on_complete()
        return True

    def _expire(self) -> None:
        if self.done:
            return
        self.expired = True
        try:
            self.on_expire()
        finally:
            self.complete()


class Purgatory:
    """Invariant: an operation is in the lists of all its keys and counted as pending, or it is done and in none."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._watched: dict[Hashable, dict[DelayedOperation, None]] = {}
        self._pending = 0

    def complete_or_watch(self, op: DelayedOperation, keys: Sequence[Hashable], delay_s: float) -> bool:
        """Hot path. True if the operation is over already (tried with success, or no time to wait), else it is parked."""
        assert op._purgatory is None, "an operation is parked once"
        if op.done or _try(op):
            return True
        if delay_s <= 0:
            op._expire()
            return True
        op._purgatory = self
        op._keys = keys
        self._pending += 1
        watched = self._watched
        for key in keys:
            operations = watched.get(key)
            if operations is None:
                watched[key] = {op: None}
            else:
                operations[op] = None
        op._timer = self._timer.schedule(delay_s, op._expire)
        return False

    def check(self, key: Hashable) -> int:
        """Something happened to `key`: try what waits for it, in order of arrival, and say how many ended. Cheap when none waits."""
        operations = self._watched.get(key)
        if operations is None:
            return 0
        completed = 0
        for op in tuple(operations):
            if not op.done and _try(op):
                completed += 1
        return completed

    def watches(self, key: Hashable) -> bool:
        """Hot path: whether anything waits for this key."""
        return key in self._watched

    def pending(self) -> int:
        return self._pending

    def watched_keys(self) -> int:
        return len(self._watched)

    def _forget(self, op: DelayedOperation) -> None:
        op._purgatory = None
        self._pending -= 1
        for key in op._keys:
            operations = self._watched.get(key)
            if operations is not None:
                operations.pop(op, None)
                if not operations:
                    del self._watched[key]


def _try(op: DelayedOperation) -> bool:
    if op.try_complete():
        op.complete()
    return op.done
