"""The timing wheel against a sorted list."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker_impl.delayed.wheel import TimerEntry, TimingWheel

START_MS = 1_000_003


def due(wheel: TimingWheel[str], now_ms: int) -> list[str]:
    return [entry.item for entry in wheel.advance(now_ms)]


def test_an_entry_comes_due_at_its_deadline_and_not_before() -> None:
    wheel: TimingWheel[str] = TimingWheel(now_ms=START_MS)
    wheel.add(START_MS + 30_000, "x")
    assert due(wheel, START_MS + 29_999) == []
    assert due(wheel, START_MS + 30_000) == ["x"]
    assert len(wheel) == 0


def test_a_deadline_already_past_is_due_at_the_next_advance() -> None:
    wheel: TimingWheel[str] = TimingWheel(now_ms=START_MS)
    wheel.add(START_MS - 5, "late")
    assert wheel.next_deadline_ms() == START_MS
    assert due(wheel, START_MS) == ["late"]


def test_a_cancelled_entry_leaves_the_wheel_at_once() -> None:
    wheel: TimingWheel[str] = TimingWheel(now_ms=START_MS)
    entry = wheel.add(START_MS + 500, "x")
    entry.cancel()
    entry.cancel()
    assert len(wheel) == 0
    assert wheel.next_deadline_ms() is None
    assert due(wheel, START_MS + 1000) == []


def test_a_clock_that_runs_back_is_taken_to_stand_still() -> None:
    wheel: TimingWheel[str] = TimingWheel(now_ms=START_MS)
    wheel.add(START_MS + 7, "x")
    wheel.advance(START_MS + 5)
    assert due(wheel, START_MS - 100) == []
    assert wheel.clock_ms == START_MS + 5


def test_a_jump_of_a_year_finds_everything_in_order() -> None:
    wheel: TimingWheel[str] = TimingWheel(now_ms=0)
    year_ms = 365 * 86_400_000
    deadlines = [7**power for power in range(13)]
    for deadline in reversed(deadlines):
        wheel.add(deadline, str(deadline))
    assert due(wheel, year_ms) == [str(deadline) for deadline in deadlines if deadline <= year_ms]


class WheelAgainstSortedList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = self.seen_ms = START_MS
        self.wheel: TimingWheel[int] = TimingWheel(now_ms=START_MS)
        self.entries: dict[int, TimerEntry[int]] = {}
        self.next_item = 0

    @rule(delay_ms=st.one_of(st.integers(-3, 50), st.integers(0, 500), st.integers(0, 10_000_000)))
    def add(self, delay_ms: int) -> None:
        self.next_item += 1
        self.entries[self.next_item] = self.wheel.add(self.now_ms + delay_ms, self.next_item)

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.entries.pop(data.draw(st.sampled_from(sorted(self.entries)))).cancel()

    @rule(step_ms=st.one_of(st.integers(0, 25), st.integers(0, 500), st.integers(0, 20_000_000)))
    def advance(self, step_ms: int) -> None:
        self.now_ms += step_ms
        self.take_due()

    @rule()
    def advance_to_the_next(self) -> None:
        deadline_ms = self.wheel.next_deadline_ms()
        if deadline_ms is not None:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.take_due()

    def take_due(self) -> None:
        overdue = {item for item, entry in self.entries.items() if entry.deadline_ms <= self.seen_ms}
        expected = {item for item, entry in self.entries.items() if entry.deadline_ms <= self.now_ms}
        came = self.wheel.advance(self.now_ms)
        assert {entry.item for entry in came} == expected
        assert len(came) == len(expected)
        in_time = [entry.deadline_ms for entry in came if entry.item not in overdue]
        assert in_time == sorted(in_time)
        self.seen_ms = self.now_ms
        for entry in came:
            del self.entries[entry.item]

    @invariant()
    def the_next_deadline_is_never_too_late(self) -> None:
        deadline_ms = self.wheel.next_deadline_ms()
        assert (deadline_ms is None) == (not self.entries)
        if deadline_ms is not None:
            earliest = min(entry.deadline_ms for entry in self.entries.values())
            assert deadline_ms <= max(earliest, self.now_ms)

    @invariant()
    def nothing_else_is_held(self) -> None:
        assert len(self.wheel) == len(self.entries)


WheelAgainstSortedList.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestWheelAgainstSortedList = WheelAgainstSortedList.TestCase
