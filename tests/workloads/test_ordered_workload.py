from collections import defaultdict

from workloads.ordered_workload import KeyTargets
from workloads.worker_plan import WorkerPlan

PLAN = WorkerPlan("host:1", "/run", "id", 0, (("a", 4), ("b", 3)), kind="ordered", workers=2, senders=3, keys=100)


def test_a_key_has_one_client_and_one_partition_and_keys_fill_every_partition():
    owners: dict = defaultdict(set)
    places: dict = defaultdict(set)
    for worker in range(2):
        targets = KeyTargets(PLAN, worker)
        for send in range(3000):
            place, key = targets.next(send % 3)
            owners[key].add((worker, send % 3))
            places[key].add(place)
    assert {len(found) for found in (*owners.values(), *places.values())} == {1}
    assert {place for found in places.values() for place in found} == set(PLAN.pool)
    assert 90 <= len(owners) <= 100
