"""What the broker should reach, beside what it reached. Pure.

Speeds are compared within one run, as ratios: seconds of one machine say nothing on another, and little an hour later. A goal
without a measurement (a quick run leaves some out) is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.bench.against_floor import AgainstFloor
from harness.bench.idle import Idle
from harness.bench.outage import Outage
from harness.bench.replication_cost import ReplicationCost
from harness.bench.throughput import Row

PROBE_USER_PER_GB = 0.72
"""User CPU of a bare three-broker probe in Python for 1 KiB, acks=all: opaque batches, pull replication, nothing else."""

COMPARED_SIZE = 1024


@dataclass(frozen=True, slots=True)
class Goal:
    what: str
    reached: float
    unit: str
    wanted: float
    at_least: bool

    @property
    def met(self) -> bool | None:
        """None where there is nothing to judge."""
        if math.isnan(self.reached):
            return None
        return self.reached >= self.wanted if self.at_least else self.reached < self.wanted


def judge(
    rows: Sequence[Row], floor: AgainstFloor, cost: ReplicationCost | None, idle: Idle, outages: Sequence[Outage], session_s: float
) -> list[Goal]:
    """`cost` is None where there are fewer than three brokers."""
    goals = [
        Goal("produce, 1 replica, 64 KiB batches, against the floor", floor.ratio, "x", 0.5, True),
        Goal("acks=all, 3 replicas, against acks=1, 1 replica (1 KiB)", cost.ratio if cost is not None else math.nan, "x", 0.35, True),
        Goal("user CPU added to the floor (64 KiB batches)", floor.user_added_per_gb, "s/GB", 0.5, False),
        Goal(f"user CPU added to the probe's {PROBE_USER_PER_GB} (1 KiB, 3 replicas, acks=all)", _added(rows), "s/GB", 0.5, False),
        Goal(f"resident with {idle.partitions} idle partitions", idle.resident_mb, "MB", 120, False),
        Goal(f"start with {idle.partitions} idle partitions", idle.running_s, "s", 0.7, False),
    ]
    for outage in outages:
        wanted = (session_s + 1) * 1000 if outage.how == "killed" else 300
        who = "leader and controller" if outage.controller else "leader"
        goals.append(Goal(f"no acknowledged write: {who} {outage.how}", outage.silence_ms, "ms", wanted, False))
    return goals


def _added(rows: Sequence[Row]) -> float:
    found = [row.cpu_per_gb.user for row in rows if (row.replicas, row.acks, row.size) == (3, "all", COMPARED_SIZE)]
    return found[0] - PROBE_USER_PER_GB if found else math.nan
