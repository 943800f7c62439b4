"""What the clients of one worker share: its recorder, its clock, its numbers, and what it has learned about partitions.

Numbers of workers never meet: each counts in a range of its own. Counters and dictionaries are shared between threads; each step on them is
one that the interpreter does not interrupt.
"""

from __future__ import annotations

import time
from itertools import count

from harness.history.recorder import Recorder
from harness.history.schema import first_number
from workloads.payload import Payloads
from workloads.rotation import Place
from workloads.worker_plan import WorkerPlan

PROCESSES = 1 << 20
MAX_WORKERS = (1 << 31) // PROCESSES


class Session:
    """`known` is the highest offset seen in each partition, whether acknowledged or polled."""

    def __init__(self, plan: WorkerPlan, worker: int, recorder: Recorder) -> None:
        if not 0 <= worker < MAX_WORKERS:
            raise ValueError(f"there is no worker {worker}; they are numbered from 0 to {MAX_WORKERS - 1}")
        self.plan = plan
        self.worker = worker
        self.recorder = recorder
        self.payloads = Payloads(plan.run_id, plan.clients.record_bytes)
        self.ops = count(first_number(worker))
        self.values = count(first_number(worker))
        self.processes = count(worker * PROCESSES)
        self.producers = count(worker * PROCESSES)
        self.known: dict[Place, int] = {}
        self._base = plan.base_ns

    def now(self) -> int:
        """ns since the run began."""
        return time.monotonic_ns() - self._base
