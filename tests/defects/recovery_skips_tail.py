"""Recovery keeps what was flushed before the last checkpoint and drops the rest unread.

Stands for recovery from the checkpoint alone. One broker gets it
back from the others; when all are killed at once the acknowledged tail is gone although it was in every page cache.

Exposed by killing all replicas at once.
"""

from collections.abc import Iterator
from typing import Any

from broker_impl.plugins import replace
from broker_impl.storage.batch import BatchHeader
from broker_impl.storage.loading import LogLoader, Remembered

ARM = "cluster"
PLAN = "kill-all"
ANOMALIES = ("lost", "lost-after-read")

_recovery_points: dict[int, int] = {}


def install() -> None:
    first_doubtful = replace("broker_impl.storage.loading:LogLoader._first_doubtful", None)
    sound = replace("broker_impl.storage.loading:LogLoader._sound", None)

    def _first_doubtful(self: LogLoader, remembered: Remembered) -> int:
        _recovery_points[id(self)] = remembered.recovery_point
        found: int = first_doubtful(self, remembered)
        return found

    def _sound(self: LogLoader, *details: Any) -> Iterator[BatchHeader]:
        point = _recovery_points[id(self)]
        before = self._end, self._epoch
        for header in sound(self, *details):
            if header.last_offset >= point:
                self._end, self._epoch = before
                self._problem = "not flushed"
                return
            before = self._end, self._epoch
            yield header

    replace("broker_impl.storage.loading:LogLoader._first_doubtful", _first_doubtful)
    replace("broker_impl.storage.loading:LogLoader._sound", _sound)
