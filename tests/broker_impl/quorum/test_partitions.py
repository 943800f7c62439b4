from dataclasses import dataclass

import msgspec
import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import AlterIsr, AlterIsrReply, ElectionResult, ElectLeaders, ElectLeadersReply, IsrChange
from broker_impl.quorum.records import NO_LEADER
from tests.broker_impl.quorum.cluster import Cluster


@dataclass
class Shrunk:
    """Three replicas, leader 1, and 3 just out of the ISR."""

    cluster: Cluster

    @property
    def change(self) -> IsrChange:
        return self.cluster.isr_change("a", 1, 2, 3)


@pytest.fixture
def shrunk() -> Shrunk:
    cluster = Cluster(4)
    cluster.create("a", (1, 2, 3))
    cluster.alter(1, cluster.isr_change("a", 1, 2))
    return Shrunk(cluster)


def refused(shrunk: Shrunk, change: IsrChange, sender: int = 1) -> int:
    """The error code; and nothing has changed, and the answer tells the present state."""
    before = shrunk.cluster.image
    result = shrunk.cluster.alter(sender, change)
    assert shrunk.cluster.image is before
    if result.leader_epoch >= 0:
        partition = shrunk.cluster.partition("a")
        assert (result.leader, result.isr, result.partition_epoch) == (partition.leader, partition.isr, partition.partition_epoch)
    return result.error


def test_the_leader_shrinks_and_grows_the_isr(shrunk: Shrunk) -> None:
    assert shrunk.cluster.partition("a").isr == (1, 2)
    result = shrunk.cluster.alter(1, shrunk.change)
    assert (result.error, result.isr, result.leader_epoch, result.partition_epoch) == (0, (1, 2, 3), 0, 2)
    assert shrunk.cluster.partition("a").isr == (1, 2, 3)


def test_a_change_repeated_or_made_on_an_older_state_is_refused(shrunk: Shrunk) -> None:
    change = shrunk.change
    shrunk.cluster.alter(1, change)
    assert refused(shrunk, change) == ErrorCode.INVALID_UPDATE_VERSION


def test_a_deposed_leader_is_refused(shrunk: Shrunk) -> None:
    change = shrunk.change
    shrunk.cluster.fence(1)
    shrunk.cluster.heartbeat(1)
    assert refused(shrunk, change) == ErrorCode.FENCED_LEADER_EPOCH


def test_who_does_not_lead_is_refused(shrunk: Shrunk) -> None:
    assert refused(shrunk, shrunk.change, sender=2) == ErrorCode.INVALID_REQUEST


def test_a_fenced_broker_cannot_join(shrunk: Shrunk) -> None:
    shrunk.cluster.fence(3)
    assert refused(shrunk, shrunk.change) == ErrorCode.INELIGIBLE_REPLICA


def test_a_stopping_broker_cannot_join(shrunk: Shrunk) -> None:
    shrunk.cluster.heartbeat(3, stop=True)
    assert refused(shrunk, shrunk.change) == ErrorCode.INELIGIBLE_REPLICA


def test_a_broker_that_restarted_since_the_leader_saw_it_cannot_join(shrunk: Shrunk) -> None:
    change = shrunk.change
    shrunk.cluster.start(3)
    assert refused(shrunk, change) == ErrorCode.INELIGIBLE_REPLICA


def test_a_clean_starter_that_kept_its_place_does_not_block_other_changes() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.register(3, clean_epoch=cluster.epoch(3))
    assert cluster.alter(1, cluster.isr_change("a", 1, 3)).error == 0


@pytest.mark.parametrize("isr", [(), (2, 3), (1, 4), (1, 9), (1, 2, 2)])
def test_an_isr_without_the_leader_or_with_strangers_is_refused(shrunk: Shrunk, isr: tuple[int, ...]) -> None:
    assert refused(shrunk, shrunk.cluster.isr_change("a", *isr)) == ErrorCode.INVALID_REQUEST


def test_unknown_topics_and_partitions_are_refused(shrunk: Shrunk) -> None:
    assert refused(shrunk, msgspec.structs.replace(shrunk.change, topic_id=b"z" * 16)) == ErrorCode.UNKNOWN_TOPIC_ID
    assert refused(shrunk, msgspec.structs.replace(shrunk.change, index=7)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_old_incarnation_of_the_leader_is_refused_whole(shrunk: Shrunk) -> None:
    reply = shrunk.cluster.do(AlterIsr(1, shrunk.cluster.epoch(1) - 1, [shrunk.change]))
    assert isinstance(reply, AlterIsrReply)
    assert (reply.error, reply.results) == (ErrorCode.STALE_BROKER_EPOCH, [])


def test_of_two_changes_of_one_partition_in_one_request_the_second_is_stale(shrunk: Shrunk) -> None:
    cluster = shrunk.cluster
    reply = cluster.do(AlterIsr(1, cluster.epoch(1), [shrunk.change, cluster.isr_change("a", 1)]))
    assert isinstance(reply, AlterIsrReply)
    assert [result.error for result in reply.results] == [0, ErrorCode.INVALID_UPDATE_VERSION]
    assert cluster.partition("a").isr == (1, 2, 3)


def test_a_change_to_the_present_isr_outdates_the_proposals_made_before_it(shrunk: Shrunk) -> None:
    before, under_way = shrunk.cluster.partition("a"), shrunk.change
    result = shrunk.cluster.alter(1, shrunk.cluster.isr_change("a", 2, 1))
    assert (result.error, result.isr, result.partition_epoch) == (0, before.isr, before.partition_epoch + 1)
    assert refused(shrunk, under_way) == ErrorCode.INVALID_UPDATE_VERSION


def election(cluster: Cluster, partitions: list[tuple[str, int]] | None, *, unclean: bool = False) -> list[ElectionResult]:
    reply = cluster.do(ElectLeaders(unclean, partitions))
    assert isinstance(reply, ElectLeadersReply)
    return reply.results


def moved_away() -> Cluster:
    """Two topics whose preferred leader 1 was away: it is back, in the ISR of "a", not yet in that of "b"."""
    cluster = Cluster(3)
    cluster.create("a", (1, 2))
    cluster.create("b", (1, 2))
    cluster.create("c", (2, 1))
    cluster.start(1)
    cluster.alter(2, cluster.isr_change("a", 1, 2))
    return cluster


def test_a_preferred_election_brings_leadership_home() -> None:
    cluster = moved_away()
    epoch = cluster.partition("a").leader_epoch
    assert [result.error for result in election(cluster, [("a", 0)])] == [0]
    assert (cluster.partition("a").leader, cluster.partition("a").leader_epoch) == (1, epoch + 1)


def test_every_partition_named_gets_its_own_answer() -> None:
    results = election(moved_away(), [("a", 0), ("b", 0), ("c", 0), ("a", 5), ("z", 0)])
    assert [result.error for result in results] == [
        0,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_an_election_of_all_answers_only_where_one_was_needed() -> None:
    cluster = moved_away()
    assert [(result.topic, result.error) for result in election(cluster, None)] == [
        ("a", 0),
        ("b", ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ]
    assert cluster.partition("a").leader == 1


def test_an_election_of_no_partitions_elects_none() -> None:
    assert election(moved_away(), []) == []


def test_an_unclean_election_on_request_needs_no_permission_of_the_topic() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.alter(1, cluster.isr_change("a", 1))
    cluster.fence(1)
    assert cluster.partition("a").leader == NO_LEADER
    assert [result.error for result in election(cluster, [("a", 0)], unclean=True)] == [0]
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (2, (2,))


def test_an_unclean_election_is_not_needed_with_a_leader_nor_possible_with_nobody() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1,))
    assert election(cluster, [("a", 0)], unclean=True)[0].error == ErrorCode.ELECTION_NOT_NEEDED
    cluster.fence(1)
    assert election(cluster, [("a", 0)], unclean=True)[0].error == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
