"""How much of what is measured: the whole table in a few minutes, or a look at it in less than one. Pure data.

Runs are bounded by time and by bytes: fresh pages cost more than anything else on the way, and a run that fills the page cache
measures the disk.
"""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 6
CAP_BYTES = 600_000_000


@dataclass(frozen=True, slots=True)
class Effort:
    sizes: tuple[int, ...]
    acks: tuple[str, ...]
    produce_s: float
    single_s: float
    latency_s: float
    pairs: int
    """How often two things that are compared take turns."""
    floor_s: float
    idle_partitions: int
    outages: tuple[tuple[str, bool], ...]
    """(killed or stopped, whether the leader is the controller as well)"""
    touch_bytes: int
    """How much memory is touched before anything is measured."""


FULL = Effort(
    sizes=(100, 1024, 10_240),
    acks=("0", "1", "all"),
    produce_s=2.0,
    single_s=0.8,
    latency_s=2.0,
    pairs=3,
    floor_s=1.5,
    idle_partitions=1000,
    outages=(("killed", False), ("killed", True), ("stopped", False), ("stopped", True)),
    touch_bytes=3_000_000_000,
)

QUICK = Effort(
    sizes=(1024,),
    acks=("1", "all"),
    produce_s=1.2,
    single_s=0.5,
    latency_s=1.0,
    pairs=2,
    floor_s=1.0,
    idle_partitions=1000,
    outages=(("killed", False), ("stopped", False)),
    touch_bytes=1_000_000_000,
)
