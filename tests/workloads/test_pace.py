import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.pace import Pace

SECOND = 1_000_000_000


def due_until(pace, now):
    found = []
    while (due := pace.take(now)) is not None:
        found.append(due)
    return found


@given(st.floats(0.5, 5_000), st.integers(0, 2**40), st.lists(st.integers(1, SECOND // 5), min_size=1, max_size=10))
def test_a_worker_held_up_sends_at_the_same_intended_times_as_one_that_was_not(rate, start, steps):
    often, once = Pace(rate, start), Pace(rate, start)
    now, found = start, []
    for step in steps:
        now += step
        found += due_until(often, now)
    assert found == due_until(once, now)


@given(st.floats(1, 10_000))
def test_a_second_has_as_many_sends_as_the_rate_says(rate):
    assert abs(len(due_until(Pace(rate, 0), SECOND - 1)) - rate) <= 1


def test_nothing_is_due_before_its_time():
    pace = Pace(10, 1000)
    assert pace.take(999) is None
    assert pace.take(1000) == 1000
    assert pace.take(1000) is None
    assert pace.due == 1000 + SECOND // 10


def test_two_workers_do_not_send_in_step():
    assert Pace(10, 0, 0.5).due == SECOND // 20


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError, match="rate"):
        Pace(0, 0)
