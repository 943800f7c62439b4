"""`log`: unique values to rotating partitions. `idempotent` and `fire-and-forget` are this workload with other client settings."""

from __future__ import annotations

from workloads.rotation import Place, Rotation
from workloads.worker_plan import WorkerPlan


class LogTargets:
    """All instances of a worker write to the partitions of one rotation, so that clients meet in each of them."""

    def __init__(self, plan: WorkerPlan, worker: int) -> None:
        mean_writes = plan.writes_per_partition // plan.workers
        self._rotation = Rotation(plan.pool, plan.live_partitions, mean_writes, plan.random("order"), plan.random("choice", worker))

    def next(self, _instance: int) -> tuple[Place, int | None]:
        return self._rotation.next(), None

    def readable(self) -> tuple[Place, ...]:
        return self._rotation.readable
