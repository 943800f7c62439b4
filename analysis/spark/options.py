"""Which Spark, and how much memory it may use: the numbers everything else is worked out from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

LOCAL = "local[*]"
LEAST_MEMORY_MB = 1024
_HEAP_MB, _LEAST_HEAP_MB = 1024, 512
_LEAST_TASK_MB = 256


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """`memory_mb` is for everything together: Java and the Python workers of this machine. `large`: Java will have work to do."""

    master: str = LOCAL
    memory_mb: int | None = None
    large: bool = False

    @property
    def is_local(self) -> bool:
        return self.master == "local" or self.master.startswith("local[")

    @property
    def cores(self) -> int:
        """Tasks at a time, where that is ours to know."""
        if self.master == "local":
            return 1
        match = re.match(r"local\[(\d+)", self.master)
        return int(match[1]) if match else len(os.sched_getaffinity(0))

    @property
    def memory(self) -> int:
        """In MB; half of the machine's unless it was given."""
        return self.memory_mb or max(LEAST_MEMORY_MB, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21)

    @property
    def heap_mb(self) -> int:
        return max(_LEAST_HEAP_MB, min(_HEAP_MB, self.memory // 3))

    @property
    def task_memory_mb(self) -> int:
        """What one task may use."""
        return max(_LEAST_TASK_MB, (self.memory - self.heap_mb) // self.cores)
