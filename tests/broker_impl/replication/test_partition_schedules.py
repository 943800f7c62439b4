"""Seeded schedules over the model cluster: every promise after every step, and convergence once all is healed."""

from collections import Counter

import pytest

from broker_impl.replication.isr import IsrChange
from broker_impl.replication.partition import IsrAnswer, Partition, PartitionState, Role, Transition
from tests.broker_impl.replication.model_cluster import BrokenPromise
from tests.broker_impl.replication.model_node import Truncation
from tests.broker_impl.replication.model_schedule import Schedule

STEPS = 500


def run(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        schedule = Schedule(seed)
        try:
            schedule.run(STEPS)
            schedule.heal()
            assert_converged(schedule)
        except AssertionError as problem:
            raise AssertionError(f"seed {seed}: {problem}") from problem
        seen += schedule.seen
    return seen


def assert_converged(schedule: Schedule) -> None:
    cluster = schedule.cluster
    assert set(cluster.controller.state.isr) == set(cluster.nodes)
    for node in cluster.nodes.values():
        assert node.log.entries == cluster.committed


def test_every_promise_holds_after_every_step_of_seeded_schedules() -> None:
    seen = run(range(600))
    for state in ("acknowledged", "truncated", "two leaders at once", "leader changed", "proposal lost"):
        assert seen[state] > 0, f"no schedule reached: {state}"


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_promise_holds_after_every_step_of_many_seeded_schedules() -> None:
    run(range(1000, 21_000))


class JoinsByHighWatermarkAlone(Partition):
    """Lets a follower join that lacks what the leader had when its epoch began."""

    @property
    def epoch_start(self) -> int:
        return 0

    @epoch_start.setter
    def epoch_start(self, offset: int) -> None:
        pass


class CountsCommittedOnly(Partition):
    """Does not wait for a follower it has proposed."""

    def _advance(self, now: float) -> bool:
        for follower in self._followers.values():
            follower.counted = follower.committed
        return super()._advance(now)


class TakesProposalsBack(Partition):
    """Believes that a proposal without an answer came to nothing."""

    def isr_change_answered(self, change: IsrChange, answer: IsrAnswer | None, now: float) -> bool:
        moved = super().isr_change_answered(change, answer, now)
        if self.change_in_flight is None and self.role is Role.LEADER:
            self._isr.maximal = frozenset(self.isr)
            moved |= self._membership_changed(now)
        return moved


class MovesBelowMinIsr(Partition):
    def _advance(self, now: float) -> bool:
        self._frozen = False
        return super()._advance(now)


class BelievesItsWholeLogIsCommitted(Partition):
    """As a new leader."""

    def become(self, state: PartitionState, log_end: int, now: float) -> Transition:
        transition = super().become(state, log_end, now)
        if transition.new_epoch and transition.role is Role.LEADER:
            self.high_watermark = log_end
        return transition


@pytest.mark.parametrize(
    "machine_type", [JoinsByHighWatermarkAlone, CountsCommittedOnly, TakesProposalsBack, MovesBelowMinIsr, BelievesItsWholeLogIsCommitted]
)
def test_the_schedules_catch_a_machine_that_is(machine_type: type[Partition]) -> None:
    with pytest.raises(BrokenPromise):
        for seed in range(400):
            Schedule(seed, machine_type=machine_type).run(STEPS)


@pytest.mark.parametrize("truncation", [Truncation.TO_HIGH_WATERMARK, Truncation.BY_END_OFFSET_ONCE])
def test_the_schedules_catch_truncation_without_epochs(truncation: Truncation) -> None:
    with pytest.raises(BrokenPromise):
        for seed in range(100):
            Schedule(seed, truncation).run(STEPS)
