"""The losses that leader epochs cure, told step by step on the model: first as they happened, then with the cure.

KIP-101: a follower that cuts its log at its own high watermark throws away what is committed but not yet known to it as
committed; if the leader is lost then, an acknowledged write is gone, or two replicas differ at one offset. KIP-279: after fast changes
of leaders an end offset alone is not enough either, the epoch it belongs to decides.
"""

import pytest

from broker_impl.replication.partition import PartitionSettings
from tests.broker_impl.replication.model_cluster import BrokenPromise, ModelCluster
from tests.broker_impl.replication.model_log import Entry
from tests.broker_impl.replication.model_node import Truncation

SETTINGS = PartitionSettings(min_insync=1, lag_s=4.0)


def fetch(cluster: ModelCluster, *brokers: int) -> None:
    """Each asks its leader once, and hears the answer."""
    for broker in brokers:
        if cluster.send_fetch(broker) is not None:
            while cluster.network:
                cluster.deliver(0)
                cluster.check()


def write_acknowledged_before_the_followers_know(cluster: ModelCluster) -> int:
    """The leader's high watermark covers the value, those of the followers do not yet."""
    value = cluster.produce(1, acks_all=True)
    followers = [broker for broker in cluster.nodes if broker != 1]
    fetch(cluster, *followers)
    for broker in followers:
        cluster.send_fetch(broker)
    for _ in followers:
        cluster.deliver(0)
    cluster.network.clear()
    cluster.check()
    assert value is not None
    assert value in [produce.value for produce in cluster.nodes[1].acknowledged]
    return value


def all_hear(cluster: ModelCluster) -> None:
    for broker in cluster.nodes:
        cluster.hear_metadata(broker)
    cluster.check()


def restart_in_order(cluster: ModelCluster, broker: int) -> None:
    cluster.stop_cleanly(broker)
    cluster.restart(broker)
    cluster.unfence(broker)
    all_hear(cluster)


def a_follower_restarts_then_the_leader_is_lost(truncation: Truncation) -> tuple[ModelCluster, int]:
    cluster = ModelCluster(SETTINGS, (1, 2), truncation)
    value = write_acknowledged_before_the_followers_know(cluster)
    restart_in_order(cluster, 2)
    cluster.crash(1)
    cluster.controller.fence(1)
    all_hear(cluster)
    return cluster, value


def the_lost_leader_returns_after_another_write(truncation: Truncation) -> ModelCluster:
    cluster = ModelCluster(SETTINGS, (1, 2), truncation)
    write_acknowledged_before_the_followers_know(cluster)
    cluster.nodes[1].checkpoint = 1
    cluster.stop_cleanly(2)
    cluster.restart(2)
    cluster.unfence(2)
    cluster.hear_metadata(2)
    cluster.crash(1)
    cluster.controller.fence(1)
    cluster.hear_metadata(2)
    cluster.produce(2, acks_all=True)
    cluster.restart(1)
    cluster.unfence(1)
    cluster.hear_metadata(1)
    cluster.hear_metadata(2)
    for _ in range(4):
        cluster.send_fetch(1)
        while cluster.network:
            cluster.deliver(0)
        cluster.hear_metadata(1)
    return cluster


def leaders_change_twice_and_the_middle_one_returns(truncation: Truncation) -> ModelCluster:
    """1 gave one more value to 3 than to 2; 2 led without reaching 3; 3 leads; 2 comes back with an epoch that 3 never saw."""
    cluster = ModelCluster(SETTINGS, (1, 2, 3), truncation)
    cluster.produce(1, acks_all=True)
    fetch(cluster, 2, 3)
    fetch(cluster, 2, 3)
    cluster.produce(1, acks_all=True)
    fetch(cluster, 3)
    cluster.crash(1)
    cluster.controller.fence(1)
    cluster.hear_metadata(2)
    cluster.produce(2, acks_all=False)
    cluster.produce(2, acks_all=False)
    cluster.controller.fence(2)
    all_hear(cluster)
    cluster.produce(3, acks_all=True)
    cluster.unfence(2)
    all_hear(cluster)
    fetch(cluster, 2, 2, 2)
    all_hear(cluster)
    fetch(cluster, 2, 2)
    return cluster


def test_a_restarted_follower_that_cuts_at_its_high_watermark_loses_an_acknowledged_write_when_elected() -> None:
    with pytest.raises(BrokenPromise, match="committed is"):
        a_follower_restarts_then_the_leader_is_lost(Truncation.TO_HIGH_WATERMARK)


@pytest.mark.parametrize("truncation", [Truncation.BY_EPOCH, Truncation.BY_END_OFFSET_ONCE])
def test_a_restarted_follower_that_compares_epochs_still_has_the_acknowledged_write_when_elected(truncation: Truncation) -> None:
    cluster, value = a_follower_restarts_then_the_leader_is_lost(truncation)
    assert cluster.controller.state.leader == 2
    assert cluster.nodes[2].log.entries == [Entry(1, value)]


def test_cutting_at_the_high_watermark_leaves_two_replicas_with_different_values_at_one_offset() -> None:
    cluster = the_lost_leader_returns_after_another_write(Truncation.TO_HIGH_WATERMARK)
    assert set(cluster.controller.state.isr) == {1, 2}
    assert cluster.nodes[1].log.entries[0].value != cluster.nodes[2].log.entries[0].value
    with pytest.raises(BrokenPromise, match="two values at one committed offset"):
        cluster.check()


def test_comparing_epochs_brings_both_replicas_to_the_same_log() -> None:
    cluster = the_lost_leader_returns_after_another_write(Truncation.BY_EPOCH)
    cluster.check()
    assert set(cluster.controller.state.isr) == {1, 2}
    assert cluster.nodes[1].log.entries == cluster.nodes[2].log.entries


def test_an_end_offset_without_its_epoch_leaves_replicas_different_after_two_fast_changes_of_leaders() -> None:
    with pytest.raises(BrokenPromise):
        leaders_change_twice_and_the_middle_one_returns(Truncation.BY_END_OFFSET_ONCE)


def test_an_end_offset_with_its_epoch_brings_replicas_together_after_two_fast_changes_of_leaders() -> None:
    cluster = leaders_change_twice_and_the_middle_one_returns(Truncation.BY_EPOCH)
    assert set(cluster.controller.state.isr) == {2, 3}
    assert cluster.nodes[2].log.entries == cluster.nodes[3].log.entries
    assert cluster.nodes[2].truncations > 0
