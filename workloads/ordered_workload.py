"""`ordered`: many record keys, some far more often than others, several requests in flight; what is looked at is the order of each key.

A key belongs to one client instance and one partition for the whole run: order is promised to what one client sent to one partition.
"""

from __future__ import annotations

from workloads.rotation import Place
from workloads.worker_plan import WorkerPlan

_SKEW = 2.0


class KeyTargets:
    """Key `k` belongs to partition `k mod partitions`; the keys are dealt to the instances of all workers in turn."""

    def __init__(self, plan: WorkerPlan, worker: int) -> None:
        instances = plan.instances
        self._pool = tuple(plan.pool)
        self._random = plan.random("keys", worker)
        self._all_instances = instances * plan.workers
        self._first = worker % plan.workers * instances
        self._keys_each = max(1, plan.keys // self._all_instances)

    def next(self, instance: int) -> tuple[Place, int | None]:
        nth = int(self._keys_each * self._random.random() ** _SKEW)
        key = nth * self._all_instances + self._first + instance
        return self._pool[key % len(self._pool)], key

    def readable(self) -> tuple[Place, ...]:
        return self._pool
