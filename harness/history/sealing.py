"""The background of a recorder: makes the next segment ready and turns full ones into Parquet, on one thread.

One thread, so that segments are converted in order; after a failure none is, because a segment's file may only appear after
those before it (see `convert`). What is left over then is safe in its segment and is converted when the worker is gone. At most
BACKLOG segments wait: a recorder that is faster for long has to wait, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from harness.history.convert import convert_segment
from harness.history.errors import HistoryError
from harness.history.files import segment_path
from harness.history.segment import Header, Positions, Segment

BACKLOG = 2


class Sealing:
    """At most one segment is ready and not taken. After the first failure nothing is converted any more."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._thread = ThreadPoolExecutor(1, "history")
        self._ready: Future[Segment] | None = None
        self._waiting: deque[Future[None]] = deque()
        self._failed = False

    def order(self, header: Header) -> None:
        """Have a segment ready by the time it is needed."""
        if self._ready is None:
            self._ready = self._thread.submit(self._create, header)

    def take(self, header: Header) -> Segment:
        """The segment that was ordered, or one made now where that one is too small."""
        ready, self._ready = self._ready, None
        if ready is not None:
            segment = ready.result()
            if segment.header == header:
                return segment
            segment.remove()
        return self._create(header)

    def seal(self, segment: Segment, moved: Positions, names: Mapping[str, Sequence[str]]) -> None:
        self._waiting.append(self._thread.submit(self._convert, segment, moved, names))

    def settle(self, backlog: int = BACKLOG) -> None:
        """Wait until no more than so many segments wait, and raise what went wrong with those that do not."""
        while self._waiting and (len(self._waiting) > backlog or self._waiting[0].done()):
            self._waiting.popleft().result()

    def close(self) -> None:
        """All segments are converted afterwards, or an error is raised and they are still there."""
        try:
            if self._ready is not None and self._ready.exception() is None:
                self._ready.result().remove()
            self.settle(backlog=0)
        finally:
            self._thread.shutdown()

    def _create(self, header: Header) -> Segment:
        return Segment.create(segment_path(self._run, header.worker, header.number), header)

    def _convert(self, segment: Segment, moved: Positions, names: Mapping[str, Sequence[str]]) -> None:
        if self._failed:
            raise HistoryError(f"{segment.path} was not converted: one before it could not be")
        try:
            convert_segment(self._run, segment, moved, names)
        except BaseException:
            self._failed = True
            raise
