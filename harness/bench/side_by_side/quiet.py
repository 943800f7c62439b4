"""The machine around a measurement: what is stolen from it, who else is busy, and how much waits to be written.

Steal is time in which we could have run and the host ran somebody else: on a rented machine it can halve a figure and says nothing about a
broker. Dirty memory of the round before would be written during the next.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from harness.bench.figures.results import Disturbance

_TICKS = os.sysconf("SC_CLK_TCK")
_DIRTY_BYTES = 64 << 20
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class MachineTime:
    """CPU seconds since boot, of all cores."""

    total: float
    busy: float
    steal: float


def machine_time(stat: str | None = None) -> MachineTime:
    """From the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal."""
    line = (stat if stat is not None else Path("/proc/stat").read_text()).splitlines()[0]
    user, nice, system, idle, iowait, irq, softirq, steal = (int(field) / _TICKS for field in line.split()[1:9])
    busy = user + nice + system + irq + softirq
    return MachineTime(busy + idle + iowait + steal, busy, steal)


def disturbance(before: MachineTime, after: MachineTime, ours: float) -> Disturbance:
    """`ours`: CPU seconds of brokers and clients meanwhile."""
    total = max(after.total - before.total, 1e-9)
    return Disturbance((after.steal - before.steal) / total, max(after.busy - before.busy - ours, 0.0) / total)


def come_to_rest(patience_s: float = _PATIENCE_S) -> None:
    """Until little waits to be written; another's writing may keep it from ever being less."""
    deadline = time.monotonic() + patience_s
    os.sync()
    while waiting_to_be_written() > _DIRTY_BYTES and time.monotonic() < deadline:
        time.sleep(0.1)


def waiting_to_be_written() -> int:
    found = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(found[name].split()[0]) * 1024 for name in ("Dirty", "Writeback"))
