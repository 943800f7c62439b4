"""Operations that wait end exactly once, whoever is first, and leave nothing behind."""

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker_impl.delayed.purgatory import DelayedOperation, Purgatory
from broker_impl.delayed.timer import LoopTimer
from tests.broker_impl.delayed.virtual_loop import VirtualLoop


class Waiting(DelayedOperation):
    """Waits for `ready`; notes how often it ended."""

    __slots__ = ("ends", "expirations", "ready", "then", "tries")

    def __init__(self, *, ready: bool = False, then: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.ready = ready
        self.then = then
        self.tries = 0
        self.ends: list[bool] = []
        self.expirations = 0

    def try_complete(self) -> bool:
        self.tries += 1
        return self.ready

    def on_expire(self) -> None:
        assert not self.ends
        self.expirations += 1

    def on_complete(self) -> None:
        self.ends.append(self.expired)
        self.then()


def purgatory() -> tuple[Purgatory, VirtualLoop]:
    loop = VirtualLoop()
    return Purgatory(LoopTimer(loop.as_loop())), loop


def test_what_is_ready_ends_at_once_and_is_not_watched() -> None:
    waiting, loop = purgatory()
    op = Waiting(ready=True)
    assert waiting.complete_or_watch(op, ["a"], 1.0)
    assert (op.ends, waiting.pending(), waiting.watched_keys(), loop.pending()) == ([False], 0, 0, [])


def test_what_may_not_wait_expires_at_once() -> None:
    waiting, _ = purgatory()
    op = Waiting()
    assert waiting.complete_or_watch(op, ["a"], 0)
    assert (op.ends, op.expirations) == ([True], 1)


def test_an_event_on_any_of_its_keys_ends_it_and_its_timer() -> None:
    waiting, loop = purgatory()
    op = Waiting()
    assert not waiting.complete_or_watch(op, ["a", "b"], 1.0)
    assert waiting.check("b") == 0
    op.ready = True
    assert waiting.check("b") == 1
    loop.pass_time(5.0)
    assert (op.ends, op.expirations) == ([False], 0)


def test_time_ends_it_and_says_so() -> None:
    waiting, loop = purgatory()
    op = Waiting()
    waiting.complete_or_watch(op, ["a"], 1.0)
    loop.pass_time(1.1)
    assert (op.ends, op.expirations, waiting.pending()) == ([True], 1, 0)


def test_an_event_on_another_key_does_not_try_it() -> None:
    waiting, _ = purgatory()
    op = Waiting()
    waiting.complete_or_watch(op, ["a"], 1.0)
    waiting.check("b")
    assert op.tries == 1


def test_ended_operations_do_not_stay_under_keys_that_are_never_checked() -> None:
    waiting, _ = purgatory()
    for number in range(1000):
        op = Waiting()
        waiting.complete_or_watch(op, ["busy", f"idle-{number}"], 30.0)
        op.ready = True
        waiting.check("busy")
    assert (waiting.pending(), waiting.watched_keys()) == (0, 0)


def test_a_key_is_watched_as_long_as_something_waits_for_it() -> None:
    waiting, _ = purgatory()
    op = Waiting()
    waiting.complete_or_watch(op, ["a"], 1.0)
    assert (waiting.watches("a"), waiting.watches("b")) == (True, False)
    op.complete()
    assert not waiting.watches("a")


def test_an_operation_may_end_itself_while_it_is_tried() -> None:
    class Impatient(Waiting):
        __slots__ = ()

        def try_complete(self) -> bool:
            return super().try_complete() and not self.complete()

    waiting, _ = purgatory()
    op = Impatient()
    waiting.complete_or_watch(op, ["a"], 1.0)
    op.ready = True
    assert waiting.check("a") == 1
    assert op.ends == [False]


def test_an_end_may_check_the_same_key_again() -> None:
    waiting, _ = purgatory()
    ops = [Waiting(then=lambda: waiting.check("a")) for _ in range(3)]
    for op in ops:
        waiting.complete_or_watch(op, ["a"], 1.0)
    for op in ops:
        op.ready = True
    waiting.check("a")
    assert [op.ends for op in ops] == [[False]] * 3


def test_an_end_may_park_another_under_the_same_key() -> None:
    waiting, _ = purgatory()
    following = Waiting()
    op = Waiting(then=lambda: waiting.complete_or_watch(following, ["a"], 1.0))
    waiting.complete_or_watch(op, ["a"], 1.0)
    op.ready = True
    assert waiting.check("a") == 1
    assert waiting.pending() == 1


class ExactlyOnce(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.purgatory, self.loop = purgatory()
        self.ops: list[tuple[Waiting, float]] = []

    @rule(keys=st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), delay=st.floats(0, 2), ready=st.booleans())
    def park(self, keys: list[str], delay: float, ready: bool) -> None:
        op = Waiting(ready=ready)
        over = self.purgatory.complete_or_watch(op, keys, delay)
        assert over == op.done == (ready or delay <= 0)
        self.ops.append((op, self.loop.now + delay))

    @precondition(lambda self: self.ops)
    @rule(data=st.data())
    def make_ready(self, data: st.DataObject) -> None:
        self.ops[data.draw(st.integers(0, len(self.ops) - 1))][0].ready = True

    @rule(key=st.sampled_from("abcd"))
    def check(self, key: str) -> None:
        self.purgatory.check(key)

    @precondition(lambda self: self.ops)
    @rule(data=st.data())
    def end_by_force(self, data: st.DataObject) -> None:
        op, _ = self.ops[data.draw(st.integers(0, len(self.ops) - 1))]
        was_done = op.done
        assert op.complete() is not was_done

    @rule(seconds=st.floats(0, 1.5))
    def pass_time(self, seconds: float) -> None:
        self.loop.pass_time(seconds)

    @invariant()
    def each_ended_at_most_once_and_none_is_overdue(self) -> None:
        for op, deadline in self.ops:
            assert len(op.ends) == op.done
            assert op.expirations == op.expired
            assert op.done or self.loop.now <= deadline + 0.002

    @invariant()
    def only_the_unfinished_are_held(self) -> None:
        unfinished = sum(not op.done for op, _ in self.ops)
        assert self.purgatory.pending() == unfinished
        assert (self.purgatory.watched_keys() > 0) == (unfinished > 0)


ExactlyOnce.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestExactlyOnce = ExactlyOnce.TestCase
