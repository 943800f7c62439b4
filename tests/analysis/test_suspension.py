"""When service is promised though something was done to the cluster."""

import json

import pytest

from analysis.settled import settle
from analysis.suspension import FOR_GOOD, progress_of
from harness.history.beside import PROVEN, Event, Fault
from harness.history.plan import Plan, Promises
from harness.history.stalls import EVENT

PROMISED = Promises(progress=True, replicas=3, min_insync=2)


def fault(kind, targets, start, end, number=0):
    return Fault(number, kind, "some", targets, 0, start, end, None, None, PROVEN)


def suspended(*faults, promises=PROMISED, nodes=None):
    plan = Plan(1, promises, scenario={"settings": {"nodes": nodes}} if nodes else {})
    progress = progress_of(settle(promises), plan, faults, [])
    assert progress is not None
    return [tuple(times) for times in progress.suspended.tolist()]


def test_where_progress_is_not_promised_there_is_none():
    assert progress_of(settle(Promises()), None, [], []) is None


def test_one_node_of_three_may_go():
    assert suspended(fault("kill", ["n1"], 10, 20)) == []


def test_two_of_three_at_once_may_not():
    assert suspended(fault("kill", ["n1"], 10, 20), fault("pause", ["n2"], 15, 30)) == [(15, 20)]


def test_the_same_node_struck_twice_is_one_node():
    assert suspended(fault("kill", ["n1"], 10, 20), fault("partition:one", ["n1"], 15, 30)) == []


def test_of_five_nodes_two_may_go_unless_the_replicas_are_too_few():
    assert suspended(fault("kill", ["n1", "n2"], 10, 20), promises=Promises(progress=True, replicas=5, min_insync=2), nodes=5) == []
    assert suspended(fault("kill", ["n1", "n2"], 10, 20), nodes=5) == [(10, 20)]


def test_a_fault_that_may_strike_anything_suspends_for_its_length_and_one_without_an_end_for_good():
    assert suspended(fault("partition:ring", [], 10, 20), fault("slow-disk", ["n1"], 30, None)) == [(10, 20), (30, FOR_GOOD)]


def test_a_clock_takes_nobody_and_what_did_not_happen_suspends_nothing():
    assert suspended(fault("clock:bump", ["n1"], 10, 20), fault("kill", ["n1", "n2"], None, None)) == []


@pytest.mark.parametrize("length, expected", [(500_000_000, []), (500_000_001, [[10, 500_000_011]])])
def test_stalls_that_matter_are_told(length, expected):
    stall = Event(10, "worker-1", EVENT, detail=json.dumps({"end": 10 + length}))
    progress = progress_of(settle(PROMISED), None, [], [stall])
    assert progress is not None and progress.stalled.tolist() == expected
