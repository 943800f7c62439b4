"""Everything a worker needs to know, as one JSON file for all workers of a run.

Rates and counts are those of the scenario; a worker takes its share by its number. `base_ns` is CLOCK_MONOTONIC when the run began:
workers, nemesis and harness share that clock, and every time in the history counts from there.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from harness.history.schema import DEFAULT_BUCKETS
from workloads.clients import ClientSettings
from workloads.rotation import Place

MAX_INSTANCES = 16
"""Client instances in a worker; more logical senders share them."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """`rate`: sends a second of all workers together; 0: as fast as it goes. `topics`: name and number of partitions."""

    bootstrap: str
    run: str
    run_id: str
    base_ns: int
    topics: tuple[tuple[str, int], ...]
    clients: ClientSettings = field(default_factory=ClientSettings)
    kind: Literal["log", "ordered"] = "log"
    rate: float = 2000.0
    workers: int = 1
    senders: int = 4
    pollers: int = 2
    live_partitions: int = 10
    writes_per_partition: int = 4000
    keys: int = 1000
    seed: int = 0
    buckets: int = DEFAULT_BUCKETS

    @property
    def pool(self) -> list[Place]:
        return [(topic, part) for topic, parts in self.topics for part in range(parts)]

    @property
    def instances(self) -> int:
        return min(self.senders, MAX_INSTANCES)

    def random(self, *purpose: object) -> random.Random:
        """The same for the same seed and purpose, and independent of every other purpose."""
        return random.Random(":".join(map(str, (self.seed, *purpose))))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))


def load_plan(path: Path) -> WorkerPlan:
    found = json.loads(path.read_text())
    topics = tuple((name, parts) for name, parts in found.pop("topics"))
    return WorkerPlan(clients=ClientSettings(**found.pop("clients")), topics=topics, **found)
