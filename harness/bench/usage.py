"""What processes used: CPU time and memory, as the kernel counts them.

Brokers are measured from outside, so that measuring costs them nothing and works for any process. Peak memory is the
kernel's high-water mark of resident pages, which can be set back between two measurements.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME = 11, 12  # fields of /proc/<pid>/stat, counted from the one behind the command's name
MB = 1_000_000
GB = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Cpu:
    user: float
    system: float

    def __sub__(self, earlier: Cpu) -> Cpu:
        return Cpu(self.user - earlier.user, self.system - earlier.system)

    def __truediv__(self, amount: float) -> Cpu:
        return Cpu(self.user / amount, self.system / amount)


def cpu_of(pids: Iterable[int]) -> Cpu:
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return Cpu(sum(int(row[_UTIME]) for row in fields) / _TICKS, sum(int(row[_STIME]) for row in fields) / _TICKS)


def resident_mb(pid: int) -> float:
    return _memory(pid, "VmRSS")


def peak_mb(pids: Iterable[int]) -> float:
    """Of the process that had most."""
    return max(_memory(pid, "VmHWM") for pid in pids)


def reset_peaks(pids: Iterable[int]) -> None:
    """Where the kernel refuses, peaks count from the start of the process."""
    for pid in pids:
        with suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text("5")


def _memory(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _colon, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024 / MB
    raise ProcessLookupError(f"process {pid} has ended")
