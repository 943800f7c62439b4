from hypothesis import given
from hypothesis import strategies as st

from broker_impl.quorum.elections import elect, elect_preferred, with_state
from broker_impl.quorum.image import PartitionImage
from broker_impl.quorum.records import NO_LEADER


def partition(isr: tuple[int, ...], leader: int, replicas: tuple[int, ...] = (1, 2, 3)) -> PartitionImage:
    return PartitionImage(0, replicas, isr, leader, 5, 9)


def test_a_live_leader_stays_though_another_is_preferred() -> None:
    state = partition((1, 2, 3), 2)
    assert elect(state, {1, 2, 3}) is state


def test_the_first_live_isr_member_in_assignment_order_leads() -> None:
    elected = elect(partition((1, 2, 3), 1, (3, 1, 2)), {2, 3})
    assert elected.leader == 3


def test_nobody_outside_the_isr_is_elected_cleanly() -> None:
    elected = elect(partition((1,), 1), {2, 3})
    assert (elected.leader, elected.isr) == (NO_LEADER, (1,))


def test_an_unclean_election_takes_the_first_live_replica_and_leaves_it_alone_in_the_isr() -> None:
    elected = elect(partition((1,), 1), {2, 3}, unclean=True)
    assert (elected.leader, elected.isr) == (2, (2,))


def test_an_unclean_election_prefers_a_live_isr_member() -> None:
    elected = elect(partition((1, 3), 1), {2, 3}, unclean=True)
    assert (elected.leader, elected.isr) == (3, (1, 3))


def test_an_unclean_election_with_nobody_live_keeps_the_memory_of_the_isr() -> None:
    elected = elect(partition((1,), 1), set(), unclean=True)
    assert (elected.leader, elected.isr) == (NO_LEADER, (1,))


def test_who_leaves_stays_in_the_isr_only_if_alone_there() -> None:
    assert elect(partition((1, 2), 2), {2}, leaving=1).isr == (2,)
    assert elect(partition((1,), NO_LEADER), set(), leaving=1).isr == (1,)


def test_a_change_of_leader_raises_both_epochs() -> None:
    elected = elect(partition((1, 2), 1), {2})
    assert (elected.leader_epoch, elected.partition_epoch) == (6, 10)


def test_a_shrink_under_the_same_leader_raises_the_partition_epoch_only() -> None:
    shrunk = elect(partition((1, 2), 1), {1}, leaving=2)
    assert (shrunk.leader_epoch, shrunk.partition_epoch) == (5, 10)


def test_the_preferred_leader_takes_over_if_it_is_live_and_in_the_isr() -> None:
    assert elect_preferred(partition((1, 2), 2), {1, 2}).leader == 1
    dead, behind = partition((1, 2), 2), partition((2, 3), 2)
    assert elect_preferred(dead, {2}) is dead
    assert elect_preferred(behind, {1, 2, 3}) is behind


def test_an_isr_is_kept_in_assignment_order() -> None:
    assert with_state(partition((1,), 1, (3, 1, 2)), [1, 2, 3], 1).isr == (3, 1, 2)


@st.composite
def elections(draw: st.DrawFn) -> tuple[PartitionImage, set[int], int | None, bool]:
    replicas = tuple(draw(st.permutations([1, 2, 3, 4]))[: draw(st.integers(1, 4))])
    members = draw(st.sets(st.sampled_from(replicas), min_size=1))
    isr = tuple(replica for replica in replicas if replica in members)
    leader = draw(st.sampled_from([NO_LEADER, *isr]))
    return partition(isr, leader, replicas), draw(st.sets(st.integers(1, 4))), draw(st.none() | st.integers(1, 4)), draw(st.booleans())


@given(elections())
def test_whatever_happens_the_outcome_is_sound(case: tuple[PartitionImage, set[int], int | None, bool]) -> None:
    state, live, leaving, unclean = case
    live -= {leaving} if leaving is not None else set()
    after = elect(state, live, leaving=leaving, unclean=unclean)
    assert after.contradiction() is None
    assert after.leader == NO_LEADER or after.leader in live
    assert unclean or set(after.isr) <= set(state.isr)
    assert after.leaderless == (not live & set(after.isr))
    assert (after.leader_epoch > state.leader_epoch) == (after.leader != state.leader)
    assert (after.partition_epoch > state.partition_epoch) == (after is not state)
    assert elect(after, live, leaving=leaving, unclean=unclean) is after
