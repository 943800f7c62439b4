"""The high watermark, the roles and the answers to requests, rule by rule."""

import pytest

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.replication.partition import NOTHING, PartitionSettings, Role
from tests.broker_impl.replication.partition_making import LIVE, fetched, leader, partition, state


def test_the_high_watermark_is_the_smallest_log_end_in_the_isr() -> None:
    machine = leader()
    machine.appended(7, 1.0)
    fetched(machine, 2, 7)
    assert machine.high_watermark == 0
    assert fetched(machine, 3, 4)
    assert machine.high_watermark == 4


def test_the_high_watermark_does_not_go_back_when_a_follower_asks_from_further_down() -> None:
    machine = leader()
    machine.appended(7, 1.0)
    fetched(machine, 2, 7)
    fetched(machine, 3, 7)
    assert not fetched(machine, 3, 2)
    assert machine.high_watermark == 7


def test_a_leader_alone_and_enough_commits_at_once() -> None:
    machine = leader(isr=(1,), min_insync=1)
    assert machine.appended(3, 1.0)
    assert machine.high_watermark == 3


def test_the_high_watermark_stands_still_while_the_isr_is_too_small() -> None:
    machine = leader(isr=(1,))
    assert not machine.appended(3, 1.0)
    assert machine.below_min_isr


def test_min_insync_replicas_above_the_replication_factor_asks_for_all_replicas() -> None:
    machine = leader(min_insync=5)
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    assert fetched(machine, 3, 3)


def test_lowering_min_insync_replicas_frees_the_high_watermark() -> None:
    machine = leader(isr=(1,))
    machine.appended(3, 1.0)
    assert machine.configure(PartitionSettings(min_insync=1, lag_s=10.0), 2.0)
    assert machine.high_watermark == 3


def test_raising_min_insync_replicas_freezes_the_high_watermark() -> None:
    machine = leader(isr=(1, 2))
    machine.configure(PartitionSettings(min_insync=3, lag_s=10.0), 1.0)
    machine.appended(3, 2.0)
    assert not fetched(machine, 2, 3, 2.0)


def test_only_flushed_offsets_of_the_leader_count_where_flushing_counts() -> None:
    machine = leader(isr=(1,), min_insync=1, flush_counts=True)
    assert not machine.appended(5, 1.0)
    assert machine.flushed(3, 2.0)
    assert machine.high_watermark == 3


def test_a_flush_reported_beyond_the_log_end_counts_up_to_the_end() -> None:
    machine = leader(isr=(1,), min_insync=1, flush_counts=True)
    machine.appended(5, 1.0)
    machine.flushed(9, 2.0)
    assert machine.flushed_end == 5


def test_metadata_that_shrinks_the_isr_moves_the_high_watermark() -> None:
    machine = leader()
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    transition = machine.become(state(partition_epoch=11, isr=(1, 2)), 3, 2.0)
    assert (transition.hw_moved, transition.new_epoch) == (True, False)


def test_replicas_that_are_taken_away_are_no_longer_counted() -> None:
    machine = leader()
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    assert machine.become(state(partition_epoch=11, replicas=(1, 2), isr=(1, 2)), 3, 2.0).hw_moved
    assert machine.follower_fetched(3, LIVE[3], 3, 3.0, LIVE) is NOTHING


def test_a_fetch_of_another_incarnation_does_not_count() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    assert machine.follower_fetched(2, LIVE[2] - 1, 3, 1.0, LIVE) is NOTHING
    assert machine.followers[2].log_end == -1


def test_a_fetch_of_a_broker_that_is_not_live_does_not_count() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    assert machine.follower_fetched(2, LIVE[2], 3, 1.0, {1: 101}) is NOTHING


def test_a_fetch_beyond_the_leaders_end_does_not_count() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    assert machine.follower_fetched(2, LIVE[2], 4, 1.0, LIVE) is NOTHING


def test_a_fetch_of_a_broker_without_a_replica_does_not_count() -> None:
    assert leader().follower_fetched(9, 109, 0, 1.0, {**LIVE, 9: 109}) is NOTHING


def test_a_new_leader_knows_no_follower_and_starts_from_what_it_knew() -> None:
    machine = partition(log_end=8, high_watermark=5)
    transition = machine.become(state(), 8, 0.0)
    assert (transition.role, transition.new_epoch, transition.hw_moved) == (Role.LEADER, True, False)
    assert (machine.high_watermark, machine.epoch_start) == (5, 8)
    assert [machine.followers[replica].log_end for replica in (2, 3)] == [-1, -1]


def test_a_leader_of_a_new_epoch_forgets_what_followers_had_in_the_old_one() -> None:
    machine = leader()
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    machine.become(state(leader_epoch=6, partition_epoch=11), 3, 2.0)
    assert not fetched(machine, 3, 3, 2.0)
    assert machine.high_watermark == 0


def test_a_change_within_the_epoch_keeps_what_followers_had() -> None:
    machine = leader()
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    machine.become(state(partition_epoch=11), 3, 2.0)
    assert fetched(machine, 3, 3, 2.0)


@pytest.mark.parametrize("partition_epoch", [9, 10])
def test_metadata_already_known_changes_nothing(partition_epoch: int) -> None:
    machine = leader()
    transition = machine.become(state(leader=2, leader_epoch=4, partition_epoch=partition_epoch), 0, 1.0)
    assert (transition.role, transition.new_epoch, machine.leader) == (Role.LEADER, False, 1)


def test_a_broker_that_is_no_replica_any_more_has_no_role() -> None:
    machine = leader()
    assert machine.become(state(leader=2, leader_epoch=6, partition_epoch=11, replicas=(2, 3), isr=(2, 3)), 0, 1.0).role is Role.NONE


def test_a_follower_takes_the_leaders_high_watermark_up_to_its_own_end() -> None:
    machine = partition()
    machine.become(state(leader=2), 0, 0.0)
    machine.follower_hw(9, 4)
    assert (machine.high_watermark, machine.log_end) == (4, 4)


def test_a_follower_does_not_forget_what_was_committed_when_a_new_leader_knows_less() -> None:
    machine = partition()
    machine.become(state(leader=2), 0, 0.0)
    machine.follower_hw(4, 4)
    machine.follower_hw(1, 4)
    assert machine.high_watermark == 4


def test_becoming_a_follower_leaves_log_end_and_high_watermark_alone() -> None:
    machine = leader(isr=(1,), min_insync=1)
    machine.appended(5, 1.0)
    machine.become(state(leader=2, leader_epoch=6, partition_epoch=11), 5, 2.0)
    assert (machine.high_watermark, machine.log_end) == (5, 5)


def test_a_cut_takes_the_flushed_end_and_the_high_watermark_along() -> None:
    machine = partition(log_end=8, flushed_end=8, high_watermark=6)
    machine.become(state(leader=2), 8, 0.0)
    machine.truncated(5)
    assert (machine.log_end, machine.flushed_end, machine.high_watermark) == (5, 5, 5)


def test_a_checkpointed_high_watermark_beyond_the_log_is_cut_to_it() -> None:
    assert partition(log_end=3, high_watermark=7).high_watermark == 3


@pytest.mark.parametrize(("epoch", "code"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_another_leader_epoch_is_refused(epoch: int, code: ErrorCode) -> None:
    with pytest.raises(BrokerError) as refusal:
        leader().check_epoch(epoch)
    assert refusal.value.code is code


def test_a_client_may_leave_the_leader_epoch_open() -> None:
    leader().check_epoch(-1)


def test_a_replica_must_name_the_leader_epoch() -> None:
    machine = leader()
    machine.check_replica_epoch(5)
    with pytest.raises(BrokerError) as refusal:
        machine.check_replica_epoch(-1)
    assert refusal.value.code is ErrorCode.FENCED_LEADER_EPOCH


def test_a_follower_refuses_requests_for_the_leader_even_in_its_epoch() -> None:
    machine = partition()
    machine.become(state(leader=2), 0, 0.0)
    for question in (lambda: machine.check_epoch(5), lambda: machine.check_epoch(-1), lambda: machine.may_append(1)):
        with pytest.raises(BrokerError) as refusal:
            question()
        assert refusal.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_acks_all_is_refused_before_the_append_while_the_isr_is_too_small() -> None:
    machine = leader(isr=(1,))
    machine.may_append(1)
    machine.may_append(0)
    with pytest.raises(BrokerError) as refusal:
        machine.may_append(-1)
    assert refusal.value.code is ErrorCode.NOT_ENOUGH_REPLICAS


def test_an_acks_all_produce_waits_for_the_high_watermark() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    assert machine.ack_state(3, 5) is None
    fetched(machine, 2, 3)
    assert machine.ack_state(3, 5) is ErrorCode.NONE


def test_a_produce_committed_just_before_the_isr_became_too_small_is_told_so() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    fetched(machine, 2, 3)
    machine.become(state(partition_epoch=11, isr=(1,)), 3, 2.0)
    assert machine.ack_state(3, 5) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_a_produce_not_committed_when_the_isr_becomes_too_small_waits() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    machine.become(state(partition_epoch=11, isr=(1,)), 3, 2.0)
    assert machine.ack_state(3, 5) is None


def test_a_produce_of_a_lost_leadership_is_answered_at_once() -> None:
    machine = leader(isr=(1, 2))
    machine.appended(3, 1.0)
    machine.become(state(leader=2, leader_epoch=6, partition_epoch=11), 3, 2.0)
    assert machine.ack_state(3, 5) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_produce_of_an_older_leadership_is_not_acknowledged_by_a_newer_one_of_the_same_broker() -> None:
    machine = leader(isr=(1,), min_insync=1)
    machine.appended(3, 1.0)
    machine.become(state(leader_epoch=7, partition_epoch=12, isr=(1,)), 3, 2.0)
    assert machine.ack_state(3, 5) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_retired_partition_sends_everybody_away() -> None:
    machine = leader(isr=(1,), min_insync=1)
    machine.appended(3, 1.0)
    machine.retire()
    assert machine.ack_state(3, 5) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert machine.follower_fetched(2, LIVE[2], 3, 2.0, LIVE) is NOTHING
