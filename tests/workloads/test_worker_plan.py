from workloads.clients import ClientSettings
from workloads.worker_plan import WorkerPlan, load_plan

PLAN = WorkerPlan("host:1", "/run", "id", 5, (("a", 2), ("b", 1)), ClientSettings(acks="1"), rate=0.0, senders=40)


def test_a_plan_is_the_same_after_it_was_a_file(tmp_path):
    PLAN.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == PLAN


def test_the_pool_has_every_partition():
    assert PLAN.pool == [("a", 0), ("a", 1), ("b", 0)]


def test_many_senders_share_a_bounded_number_of_clients():
    assert PLAN.instances == 16


def test_randomness_depends_on_the_purpose_alone():
    assert PLAN.random("x", 1).random() == PLAN.random("x", 1).random() != PLAN.random("x", 2).random()
