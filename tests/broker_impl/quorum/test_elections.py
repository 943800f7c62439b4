from hypothesis import given
from hypothesis import strategies as st

from broker_impl.quorum.elections import Outside, Recalled, elect, elect_preferred, outside, with_state
from broker_impl.quorum.image import PartitionImage
from broker_impl.quorum.records import NO_LEADER

ONE, TWO = 1, 2
"""min.insync.replicas"""


def partition(isr: tuple[int, ...], leader: int, replicas: tuple[int, ...] = (1, 2, 3), elr: tuple[int, ...] = ()) -> PartitionImage:
    return PartitionImage(0, replicas, isr, leader, 5, 9, elr)


def back(broker: int, epoch: int = 5, end: int = 100) -> Recalled:
    return Recalled(broker, epoch, end)


def test_a_live_leader_stays_though_another_is_preferred() -> None:
    state = partition((1, 2, 3), 2)
    assert elect(state, {1, 2, 3}, ONE) is state


def test_the_first_live_isr_member_in_assignment_order_leads() -> None:
    elected = elect(partition((1, 2, 3), 1, (3, 1, 2)), {2, 3}, ONE)
    assert elected.leader == 3


def test_nobody_outside_the_isr_is_elected_cleanly() -> None:
    elected = elect(partition((1,), 1), {2, 3}, ONE)
    assert (elected.leader, elected.isr) == (NO_LEADER, (1,))


def test_an_unclean_election_takes_the_first_live_replica_and_leaves_it_alone_in_the_isr() -> None:
    elected = elect(partition((1,), 1), {2, 3}, ONE, unclean=True)
    assert (elected.leader, elected.isr) == (2, (2,))


def test_an_unclean_election_prefers_a_live_isr_member() -> None:
    elected = elect(partition((1, 3), 1), {2, 3}, ONE, unclean=True)
    assert (elected.leader, elected.isr) == (3, (1, 3))


def test_an_unclean_election_with_nobody_live_keeps_the_memory_of_the_isr() -> None:
    elected = elect(partition((1,), 1), set(), ONE, unclean=True)
    assert (elected.leader, elected.isr) == (NO_LEADER, (1,))


def test_who_leaves_stays_in_the_isr_only_if_alone_there() -> None:
    assert elect(partition((1, 2), 2), {2}, ONE, leaving=1).isr == (2,)
    assert elect(partition((1,), NO_LEADER), set(), ONE, leaving=1).isr == (1,)


def test_a_change_of_leader_raises_both_epochs() -> None:
    elected = elect(partition((1, 2), 1), {2}, ONE)
    assert (elected.leader_epoch, elected.partition_epoch) == (6, 10)


def test_a_shrink_under_the_same_leader_raises_the_partition_epoch_only() -> None:
    shrunk = elect(partition((1, 2), 1), {1}, ONE, leaving=2)
    assert (shrunk.leader_epoch, shrunk.partition_epoch) == (5, 10)


def test_the_preferred_leader_takes_over_if_it_is_live_and_in_the_isr() -> None:
    assert elect_preferred(partition((1, 2), 2), {1, 2}).leader == 1
    dead, behind = partition((1, 2), 2), partition((2, 3), 2)
    assert elect_preferred(dead, {2}) is dead
    assert elect_preferred(behind, {1, 2, 3}) is behind


def test_an_isr_is_kept_in_assignment_order() -> None:
    assert with_state(partition((1,), 1, (3, 1, 2)), [1, 2, 3], 1, Outside()).isr == (3, 1, 2)


def test_who_leaves_an_isr_that_is_then_too_small_stays_eligible() -> None:
    shrunk = elect(partition((1, 2), 1), {1}, TWO, leaving=2)
    assert (shrunk.isr, shrunk.elr) == ((1,), (2,))
    assert elect(partition((1, 2, 3), 1), {1, 2}, TWO, leaving=3).elr == ()


def test_an_eligible_replica_leads_when_no_member_of_the_isr_can() -> None:
    elected = elect(partition((1,), 1, elr=(2, 3)), {3}, TWO, leaving=1)
    assert (elected.leader, elected.isr, elected.elr) == (3, (3,), (1, 2))
    assert elect(partition((1,), NO_LEADER, elr=(3,)), {1, 3}, TWO).leader == 1


def test_an_eligible_replica_takes_the_place_of_the_last_member_that_may_have_lost_its_tail() -> None:
    waiting = elect(partition((1,), 1, elr=(2, 3)), set(), TWO, lost=back(1))
    assert (waiting.leader, waiting.isr, waiting.elr) == (NO_LEADER, (2,), (3,))
    assert elect(waiting, {1, 3}, TWO).leader == 3


def test_who_may_have_lost_its_tail_is_eligible_no_more() -> None:
    assert elect(partition((1, 2), 1), {1}, TWO, lost=back(2)).elr == ()
    forgotten = elect(partition((1,), 1, elr=(2, 3)), {1}, TWO, lost=back(2))
    assert (forgotten.elr, forgotten.leader_epoch, forgotten.partition_epoch) == ((3,), 5, 10)
    assert elect(partition((1,), 1), set(), TWO, lost=back(1)).isr == (1,)


def test_of_all_that_came_back_uncleanly_the_longest_log_wins() -> None:
    state = partition((1, 2), 1)
    one_is_back = elect(elect(state, set(), TWO, leaving=1), set(), TWO, lost=back(1, 5, 90))
    assert (one_is_back.isr, one_is_back.elr, one_is_back.recalled) == ((2,), (), ((1, 5, 90),))
    shorter, longer = (elect(one_is_back, {1}, TWO, lost=back(2, 5, end)) for end in (80, 100))
    assert (shorter.isr, shorter.leader) == ((1,), 1)
    assert (longer.isr, longer.leader) == ((2,), NO_LEADER)
    assert longer.recalled == ((1, 5, 90), (2, 5, 100))


def test_a_log_with_a_later_epoch_is_longer_than_any_without() -> None:
    one_is_back = elect(partition((1, 2), 1), set(), TWO, lost=back(1, 4, 900))
    assert elect(one_is_back, set(), TWO, lost=back(2, 5, 80)).isr == (2,)


def test_of_equal_logs_the_first_in_assignment_order_wins() -> None:
    one_is_back = elect(partition((1, 2), 1, (2, 1)), set(), TWO, lost=back(1))
    assert elect(one_is_back, set(), TWO, lost=back(2)).isr == (2,)
    two_is_back = elect(partition((1, 2), 1, (2, 1)), set(), TWO, lost=back(2))
    assert elect(two_is_back, set(), TWO, lost=back(1)).isr == (2,)


def test_one_that_comes_back_again_brings_the_log_it_has_now() -> None:
    one_is_back = elect(partition((1, 2), 1), set(), TWO, lost=back(1, 5, 100))
    again = elect(one_is_back, set(), TWO, lost=back(1, 5, 70))
    assert again.recalled == ((1, 5, 70),)
    assert elect(again, set(), TWO, lost=back(2, 5, 80)).isr == (2,)


def test_one_that_was_out_of_sync_is_not_recalled() -> None:
    assert elect(partition((1,), 1, elr=(2,)), {1}, TWO, lost=back(3)).recalled == ()


def test_nobody_is_recalled_once_records_can_be_acknowledged_again() -> None:
    one_is_back = elect(partition((1, 2), 2), {2}, TWO, lost=back(1))
    assert outside(one_is_back, (1, 2), TWO) == Outside()
    assert outside(one_is_back, (2,), TWO).recalled == (tuple(back(1)),)
    assert elect(one_is_back, {2}, ONE).recalled == ()


def test_nobody_is_eligible_where_records_can_be_acknowledged() -> None:
    state = partition((1,), 1, elr=(2, 3))
    assert elect(state, {1}, ONE).elr == ()
    assert outside(state, (1, 2), TWO) == Outside()
    assert elect(partition((1,), 1, (1,)), {1}, TWO).elr == ()


def test_after_an_unclean_election_nobody_is_eligible() -> None:
    elected = elect(partition((1,), 1, elr=(2,)), {3}, TWO, unclean=True)
    assert (elected.leader, elected.isr, elected.elr) == (3, (3,), ())


def test_leadership_goes_home_and_eligible_replicas_stay_so() -> None:
    assert elect_preferred(partition((1, 2), 2, elr=(3,)), {1, 2}).elr == (3,)


@st.composite
def elections(draw: st.DrawFn) -> tuple[PartitionImage, set[int], int]:
    replicas = tuple(draw(st.permutations([1, 2, 3, 4]))[: draw(st.integers(1, 4))])
    min_isr = draw(st.integers(1, 4))
    members = draw(st.sets(st.sampled_from(replicas), min_size=1))
    outside = draw(st.sets(st.sampled_from(replicas))) - members if len(members) < min(min_isr, len(replicas)) else set()
    isr, elr = (tuple(replica for replica in replicas if replica in each) for each in (members, outside))
    return partition(isr, draw(st.sampled_from([NO_LEADER, *isr])), replicas, elr), draw(st.sets(st.integers(1, 4))), min_isr


@given(elections(), st.none() | st.integers(1, 4), st.sampled_from(["leaving", "lost"]), st.booleans())
def test_whatever_happens_the_outcome_is_sound(
    case: tuple[PartitionImage, set[int], int], gone: int | None, how: str, unclean: bool
) -> None:
    state, live, min_isr = case
    live -= {gone} if gone is not None else set()
    leaving, lost = (gone, None) if how == "leaving" else (None, gone)
    known = None if lost is None else back(lost)
    after = elect(state, live, min_isr, leaving=leaving, lost=known, unclean=unclean)
    assert after.contradiction() is None
    assert after.leader == NO_LEADER or after.leader in live
    assert unclean or set(after.isr) <= {*state.isr, *state.elr, *(each[0] for each in state.recalled)}
    assert set(after.elr) <= {*state.isr, *state.elr} - {lost}
    assert not after.elr or len(after.isr) < min(min_isr, len(after.replicas))
    assert after.leaderless == (not live & {*after.isr, *after.elr})
    assert lost not in after.isr or after.isr == (lost,)
    assert (after.leader_epoch > state.leader_epoch) == (after.leader != state.leader)
    assert (after.partition_epoch > state.partition_epoch) == (after is not state)
    assert elect(after, live, min_isr, leaving=leaving, lost=known, unclean=unclean) is after
