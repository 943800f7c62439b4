import json

import pytest

from harness.history.errors import MalformedFile
from harness.history.plan import ClockPair, Plan, Promises, parse_promises, read_plan, write_plan

PROMISES = Promises("all", 3, 2, False, False, True, 5, "read_uncommitted", "assign", True)


def test_a_plan_comes_back_as_it_was(tmp_path):
    plan = Plan(7, PROMISES, 123, (ClockPair(0, 1_700), ClockPair(9, 1_709)), 16, {"nodes": 3, "faults": ["kill"]})
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan


def test_what_is_not_promised_is_null(tmp_path):
    write_plan(tmp_path, Plan(7, Promises(acks="1")))
    assert read_plan(tmp_path).promises == Promises(acks="1")


@pytest.mark.parametrize(
    "content, why",
    [
        ({"ack": "1"}, "no promise ack; there is: acks, replicas"),
        ({"acks": "2"}, "acks is '2'; it may be 0 or 1 or all"),
        ({"replicas": 0}, "replicas is 0; it may be a number from 1"),
        ({"replicas": True}, "a number from 1"),
        ({"unclean": "no"}, "unclean is 'no'; it may be true or false"),
        ({"isolation": "serializable"}, "read_uncommitted or read_committed"),
    ],
)
def test_a_mistaken_promise_is_named_with_what_it_may_be(content, why):
    with pytest.raises(ValueError, match=why):
        parse_promises(content)


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda plan: {"version": 2}, "not a plan of version 1"),
        (lambda plan: [], "not a plan"),
        (lambda plan: plan | {"promises": {"acks": 1}}, "promises: acks is 1"),
        (lambda plan: {name: value for name, value in plan.items() if name != "seed"}, "no sound field 'seed'"),
    ],
)
def test_a_damaged_plan_is_named(tmp_path, change, why):
    write_plan(tmp_path, Plan(7, PROMISES))
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(MalformedFile, match=rf"plan.json: .*{why}"):
        read_plan(tmp_path)


def test_a_missing_plan_is_named(tmp_path):
    with pytest.raises(MalformedFile, match=r"plan.json: cannot be read"):
        read_plan(tmp_path)
