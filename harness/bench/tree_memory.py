"""How much memory a process and all its descendants took at most.

Workers of one program share pages, so what each has resident adds up to more than there is. The kernel's proportional set size divides
a shared page by those who share it; its sum over the tree is the truth. It has no high-water mark, so it is sampled.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

INTERVAL_S = 0.2


class TreeMemory:
    """Samples while its block runs. `peak` in bytes."""

    def __init__(self, pid: int, interval_s: float = INTERVAL_S) -> None:
        self.peak = 0
        self._pid, self._interval_s = pid, interval_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="tree-memory", daemon=True)

    def __enter__(self) -> TreeMemory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def _sample(self) -> None:
        """Also when the block ends, before whoever is in it has gone."""
        ended = False
        while not ended:
            ended = self._end.wait(self._interval_s)
            self.peak = max(self.peak, sum(map(proportional_size, descendants(self._pid))))


def descendants(pid: int) -> list[int]:
    """The process itself and all below it that are alive."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def proportional_size(pid: int) -> int:
    """In bytes; 0 for a process that is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
