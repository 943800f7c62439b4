"""How the in-sync set grows and shrinks, and what is counted while the controller has not spoken."""

from broker_impl.protocol.errors import ErrorCode
from broker_impl.replication.isr import RETRY_PAUSE_S, IsrChange
from broker_impl.replication.partition import Partition
from tests.broker_impl.replication.model_controller import Answer
from tests.broker_impl.replication.partition_making import LIVE, fetched, leader, state

REFUSED = Answer(ErrorCode.INELIGIBLE_REPLICA, (1, 2), 10)


def joining(machine: Partition, replica: int, offset: int, now: float = 1.0) -> IsrChange | None:
    return machine.follower_fetched(replica, LIVE[replica], offset, now, LIVE).isr_change


def proposed(machine: Partition, replica: int = 3, now: float = 1.0) -> IsrChange:
    """The replica has everything and asks: the leader proposes it."""
    change = joining(machine, replica, machine.log_end, now)
    assert change is not None
    return change


def test_a_follower_with_everything_is_proposed_with_the_epochs_of_all_members() -> None:
    machine = leader(isr=(1, 2))
    assert proposed(machine) == IsrChange(5, 10, ((1, 101), (2, 102), (3, 103)))


def test_a_follower_below_the_high_watermark_is_not_proposed() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(5, 1.0)
    fetched(machine, 2, 5)
    assert joining(machine, 3, 4) is None


def test_a_follower_that_lacks_what_the_leader_had_at_the_start_of_its_epoch_is_not_proposed() -> None:
    machine = leader(isr=(1, 2), log_end=8, high_watermark=5)
    assert joining(machine, 3, 7) is None
    assert joining(machine, 3, 8) is not None


def test_a_leader_that_is_not_live_in_the_metadata_proposes_nothing_and_counts_nobody_new() -> None:
    machine = leader(isr=(1, 2))
    assert machine.follower_fetched(3, LIVE[3], 0, 1.0, {2: 102, 3: 103}).isr_change is None
    assert not machine.followers[3].counted


def test_one_change_is_in_flight_at_a_time() -> None:
    machine = leader(isr=(1,), min_insync=1)
    proposed(machine, 2)
    assert joining(machine, 3, 0) is None
    assert machine.tick(50.0, LIVE).isr_change is None


def test_a_proposed_follower_is_waited_for_before_it_is_accepted() -> None:
    machine = leader(isr=(1, 2))
    proposed(machine)
    machine.appended(4, 2.0)
    assert not fetched(machine, 2, 4, 2.0)
    assert fetched(machine, 3, 3, 2.0)
    assert machine.high_watermark == 3


def test_an_accepted_change_is_the_new_isr_and_may_free_the_high_watermark() -> None:
    machine = leader(isr=(1,))
    machine.appended(4, 1.0)
    change = proposed(machine, 2)
    assert machine.isr_change_answered(change, Answer(0, (1, 2), 11), 2.0)
    assert (machine.isr, machine.partition_epoch, machine.high_watermark) == ((1, 2), 11, 4)


def test_metadata_of_an_accepted_change_is_known_already() -> None:
    machine = leader(isr=(1, 2))
    machine.isr_change_answered(proposed(machine), Answer(0, (1, 2, 3), 11), 2.0)
    assert not machine.become(state(partition_epoch=11, isr=(1, 2, 3)), 0, 3.0).new_epoch
    assert machine.isr == (1, 2, 3)


def test_a_change_that_was_refused_or_lost_keeps_its_follower_counted() -> None:
    for answer in (REFUSED, None):
        machine = leader(isr=(1, 2))
        machine.isr_change_answered(proposed(machine), answer, 2.0)
        assert machine.isr == (1, 2)
        assert machine.maximal_isr == {1, 2, 3}
        machine.appended(4, 2.0)
        assert not fetched(machine, 2, 4, 2.0)


def test_what_was_not_accepted_is_settled_by_proposing_the_isr_as_it_is() -> None:
    machine = leader(isr=(1, 2))
    machine.isr_change_answered(proposed(machine), None, 2.0)
    machine.appended(4, 2.0)
    fetched(machine, 2, 4, 2.0)
    assert machine.tick(2.0, LIVE).isr_change is None
    change = machine.tick(2.0 + RETRY_PAUSE_S, LIVE).isr_change
    assert change == IsrChange(5, 10, ((1, 101), (2, 102)))
    machine.isr_change_answered(change, Answer(0, (1, 2), 11), 3.0)
    assert machine.maximal_isr == {1, 2}


def test_metadata_settles_a_change_in_flight_and_its_late_answer_is_ignored() -> None:
    machine = leader(isr=(1, 2))
    change = proposed(machine)
    machine.become(state(partition_epoch=11, isr=(1,)), 0, 2.0)
    assert machine.change_in_flight is None
    assert not machine.isr_change_answered(change, Answer(0, (1, 2, 3), 11), 3.0)
    assert machine.isr == (1,)


def test_a_late_refusal_of_an_older_change_does_not_end_the_one_in_flight() -> None:
    machine = leader(isr=(1, 2))
    older = proposed(machine)
    machine.become(state(partition_epoch=11, isr=(1, 2)), 0, 2.0)
    newer = proposed(machine, now=3.0)
    machine.isr_change_answered(older, REFUSED, 4.0)
    assert machine.change_in_flight is newer


def test_a_late_acceptance_of_a_change_given_up_settles_it() -> None:
    machine = leader(isr=(1, 2))
    change = proposed(machine)
    machine.isr_change_answered(change, None, 2.0)
    machine.isr_change_answered(change, Answer(0, (1, 2, 3), 11), 3.0)
    assert machine.isr == (1, 2, 3)


def test_an_answer_to_a_former_leadership_is_ignored() -> None:
    machine = leader(isr=(1, 2))
    change = proposed(machine)
    machine.become(state(leader_epoch=6, partition_epoch=11, isr=(1, 2)), 0, 2.0)
    assert not machine.isr_change_answered(change, Answer(0, (1, 2, 3), 12), 3.0)
    assert machine.isr == (1, 2)


def test_a_follower_behind_for_longer_than_the_lag_is_dropped() -> None:
    machine = leader()
    machine.appended(4, 1.0)
    fetched(machine, 2, 4, 12.0)
    assert machine.tick(10.0, LIVE).isr_change is None
    assert machine.tick(12.0, LIVE).isr_change == IsrChange(5, 10, ((1, 101), (2, 102)))


def test_an_idle_follower_with_everything_stays() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(4, 1.0)
    fetched(machine, 2, 4, 1.0)
    assert machine.tick(1000.0, LIVE).isr_change is None


def test_a_follower_one_round_trip_behind_a_busy_leader_stays() -> None:
    machine = leader(isr=(1, 2))
    for second in range(1, 40):
        machine.appended(second * 10, float(second))
        fetched(machine, 2, (second - 1) * 10, float(second))
        assert machine.tick(float(second), LIVE).isr_change is None


def test_a_follower_that_fetches_but_falls_ever_further_behind_is_dropped() -> None:
    machine = leader(isr=(1, 2))
    changes = []
    for second in range(1, 40):
        machine.appended(second * 10, float(second))
        fetched(machine, 2, second, float(second))
        changes.append(machine.tick(float(second), LIVE).isr_change)
    assert IsrChange(5, 10, ((1, 101),)) in changes


def test_while_a_shrink_is_pending_the_larger_set_counts() -> None:
    machine = leader()
    machine.appended(4, 1.0)
    fetched(machine, 2, 4, 12.0)
    change = machine.tick(12.0, LIVE).isr_change
    assert change is not None
    assert machine.high_watermark == 0
    assert machine.isr_change_answered(change, Answer(0, (1, 2), 11), 13.0)
    assert machine.high_watermark == 4


def test_the_high_watermark_waits_for_a_live_follower_that_keeps_up_outside_the_isr() -> None:
    machine = leader(isr=(1,), min_insync=1)
    joining(machine, 2, 0, 1.0)
    machine.become(state(partition_epoch=11, isr=(1,)), 0, 1.0)
    machine.appended(4, 1.5)
    assert machine.high_watermark == 0
    assert joining(machine, 2, 0, 2.0) is not None


def test_the_high_watermark_no_longer_waits_when_that_follower_is_gone() -> None:
    machine = leader(isr=(1,), min_insync=1)
    joining(machine, 2, 0, 1.0)
    machine.become(state(partition_epoch=11, isr=(1,)), 0, 1.0)
    machine.appended(4, 1.5)
    assert machine.tick(2.0, {1: 101}).hw_moved
    assert machine.high_watermark == 4


def test_a_member_that_the_controller_took_out_is_not_waited_for() -> None:
    machine = leader(isr=(1, 2), min_insync=1)
    fetched(machine, 2, 0, 1.0)
    machine.appended(4, 1.0)
    assert machine.become(state(partition_epoch=11, isr=(1,)), 4, 1.0).hw_moved


def test_who_joins_has_a_whole_lag_period_to_catch_up() -> None:
    machine = leader(isr=(1, 2))
    change = proposed(machine, now=100.0)
    machine.appended(4, 101.0)
    fetched(machine, 2, 4, 101.0)
    machine.isr_change_answered(change, Answer(0, (1, 2, 3), 11), 105.0)
    assert machine.tick(114.0, LIVE).isr_change is None
    assert machine.tick(116.0, LIVE).isr_change is not None
