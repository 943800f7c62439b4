"""The wheel on a loop: on virtual time, and on the two loops the broker runs on."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_impl.delayed.timer import LoopTimer
from tests.broker_impl.delayed.virtual_loop import VirtualLoop


@settings(deadline=None)
@given(delays=st.lists(st.floats(0, 3000), min_size=1, max_size=30), start=st.floats(0, 1e7))
def test_every_callback_runs_within_a_tick_after_its_delay_and_one_loop_timer_is_armed(delays: list[float], start: float) -> None:
    loop = VirtualLoop(start)
    timer = LoopTimer(loop.as_loop())
    ran: dict[int, float] = {}

    def note(number: int) -> Callable[[], None]:
        return lambda: ran.__setitem__(number, loop.now - start)

    for number, delay in enumerate(delays):
        timer.schedule(delay, note(number))
        assert len(loop.pending()) == 1
    loop.pass_time(3001)
    assert sorted(ran) == list(range(len(delays)))
    assert all(delays[number] - 1e-5 <= took <= delays[number] + 0.0011 for number, took in ran.items())
    assert loop.pending() == []


def test_a_later_deadline_leaves_the_armed_timer_alone() -> None:
    loop = VirtualLoop()
    timer = LoopTimer(loop.as_loop())
    timer.schedule(1.0, lambda: None)
    armed = loop.pending()
    timer.schedule(2.0, lambda: None)
    assert loop.pending() == armed


def test_a_callback_cancelled_by_another_of_the_same_tick_does_not_run() -> None:
    loop = VirtualLoop()
    timer = LoopTimer(loop.as_loop())
    ran = []

    def first() -> None:
        ran.append("first")
        second.cancel()

    timer.schedule(1.0, first)
    second = timer.schedule(1.0, lambda: ran.append("second"))
    loop.pass_time(2.0)
    assert ran == ["first"]


def test_a_callback_that_fails_is_reported_and_the_others_run() -> None:
    loop = VirtualLoop()
    timer = LoopTimer(loop.as_loop())
    ran = []
    timer.schedule(1.0, lambda: 1 / 0)  # type: ignore[arg-type]
    timer.schedule(1.0, lambda: ran.append("second"))
    timer.schedule(5.0, lambda: ran.append("third"))
    loop.pass_time(6.0)
    assert ran == ["second", "third"]
    assert isinstance(loop.failures[0]["exception"], ZeroDivisionError)


def test_a_callback_may_schedule_the_next() -> None:
    loop = VirtualLoop()
    timer = LoopTimer(loop.as_loop())
    ran = []

    def again() -> None:
        ran.append(loop.now)
        if len(ran) < 5:
            timer.schedule(0.25, again)

    timer.schedule(0.25, again)
    loop.pass_time(10.0)
    assert len(ran) == 5


def test_after_close_nothing_fires() -> None:
    loop = VirtualLoop()
    timer = LoopTimer(loop.as_loop())
    timer.schedule(1.0, lambda: pytest.fail("fired"))
    timer.close()
    loop.pass_time(5.0)
    assert loop.pending() == []


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_it_fires_in_order_on_a_real_loop(factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def main() -> list[int]:
        loop = asyncio.get_running_loop()
        timer = LoopTimer(loop)
        over = loop.create_future()
        ran: list[int] = []
        for milliseconds in (30, 5, 21):
            timer.schedule(milliseconds / 1000, lambda milliseconds=milliseconds: ran.append(milliseconds))  # type: ignore[misc]
        timer.schedule(0.04, lambda: over.set_result(None))
        await over
        return ran

    loop = factory()
    try:
        assert loop.run_until_complete(main()) == [5, 21, 30]
    finally:
        loop.close()
