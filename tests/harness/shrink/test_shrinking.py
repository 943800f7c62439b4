from pathlib import Path

from harness.run import Prepared
from harness.scenarios.loading import build
from harness.shrink.candidates import candidates
from harness.shrink.shrinking import CHANCES, Failure, shrink
from nemesis.schedule import PlannedFault
from nemesis.targets import parse_selector

FOUND = Failure(Path("run"), frozenset({"lost"}))


def fault(number: int, start: float, target: str = "n1", name: str | None = None) -> PlannedFault:
    return PlannedFault(number, "kill", "", parse_selector(target), {}, start, start + 4.0, name)


def plan(*faults: PlannedFault, time_limit: float = 60.0, **workload: int) -> Prepared:
    small = {"workers": 1, "senders": 1, "pollers": 1} | workload
    return Prepared(build({"seed": 1, "durations": {"time_limit": time_limit}, "workload": small}, {}, "test", "test"), faults)


def shrunk(start: Prepared, fails, most_runs: int = 100):
    return shrink(start, {"lost"}, lambda tried: FOUND if fails(tried) else None, most_runs, lambda _: None)


def test_only_the_faults_it_takes_are_left():
    start = plan(*(fault(number, number * 6.0) for number in range(1, 9)))
    found = shrunk(start, lambda tried: {3, 6} <= {each.id for each in tried.faults})
    assert [each.id for each in found.plan.faults] == [3, 6]
    assert found.failure == FOUND


def test_time_in_which_nothing_is_planned_goes():
    found = shrunk(plan(fault(1, 30.0)), lambda tried: tried.faults != ())
    (left,) = found.plan.faults
    assert (left.start, left.end, found.plan.scenario.durations.time_limit) == (3.0, 7.0, 10.0)


def test_clients_are_halved_down_to_one():
    found = shrunk(
        plan(fault(1, 3.0), time_limit=10.0, workers=4, senders=8), lambda tried: tried.faults and tried.scenario.workload.senders >= 2
    )
    assert (found.plan.scenario.workload.workers, found.plan.scenario.workload.senders) == (1, 2)


def test_a_fault_that_another_refers_to_stays_as_long_as_that_one():
    start = plan(fault(1, 3.0, name="cut"), fault(2, 5.0, "as:cut"), time_limit=12.0)
    assert [each.plan.faults for each in candidates(start) if each.what.startswith("fault 1")] == []
    assert [len(each.plan.faults) for each in candidates(start) if each.what.startswith("fault 2")] == [1]


def test_another_failure_is_not_the_same():
    other = Failure(Path("run"), frozenset({"duplicate"}))
    found = shrink(plan(fault(1, 3.0), fault(2, 5.0), time_limit=12.0), {"lost"}, lambda _: other, 100, lambda _: None)
    assert found.failure is None
    assert len(found.plan.faults) == 2


def test_each_candidate_has_its_chances_and_the_runs_are_bounded():
    seen: list[Prepared] = []
    start = plan(fault(1, 3.0), fault(2, 5.0), time_limit=12.0)
    shrink(start, {"lost"}, seen.append, 3, lambda _: None)
    assert len(seen) == 3
    assert seen[:CHANCES] == [seen[0]] * CHANCES
