"""Load whose shape changes over time, by Locust in a process of its own, with its results taken over into a report of ours.

    outcome = run_shaped_load(LoadPlan(shape="spike", users=20, seconds=60), results, tell=print)

`locust_process` starts and ends it, `outcome` reads what it left, `report` shows that; what users do is `workloads/locustfile.py`.
"""

from harness.bench.shaped_load.outcome import LoadOutcome
from harness.bench.shaped_load.plan import LoadPlan
from harness.bench.shaped_load.running import run_shaped_load

__all__ = ["LoadOutcome", "LoadPlan", "run_shaped_load"]
