from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import Heartbeat, HeartbeatReply, RegisterBroker, Registered
from broker_impl.quorum.controller import ControllerSettings
from broker_impl.quorum.records import NO_LEADER
from tests.broker_impl.quorum.cluster import SESSION_S, STEP_S, Cluster


def beat(cluster: Cluster, broker: int, epoch: int, metadata_offset: int) -> HeartbeatReply:
    reply = cluster.do(Heartbeat(broker, epoch, metadata_offset))
    assert isinstance(reply, HeartbeatReply)
    return reply


def test_the_broker_epoch_is_the_offset_of_the_registration() -> None:
    cluster = Cluster(1)
    offset = cluster.next_offset
    assert cluster.register(2) == offset


def test_a_repeated_registration_of_the_same_incarnation_changes_nothing() -> None:
    cluster = Cluster()
    epoch = cluster.register(1, incarnation="x")
    before = cluster.image
    assert cluster.register(1, incarnation="x") == epoch
    assert cluster.image is before


def test_a_negative_broker_id_is_refused() -> None:
    reply = Cluster().do(RegisterBroker(-1, "x", "host", 1))
    assert isinstance(reply, Registered)
    assert reply.error == ErrorCode.INVALID_REQUEST


def test_a_broker_is_unfenced_only_after_it_has_seen_its_registration() -> None:
    cluster = Cluster()
    epoch = cluster.register(1)
    assert beat(cluster, 1, epoch, epoch - 1).fenced
    assert not beat(cluster, 1, epoch, epoch).fenced


def test_heartbeats_of_unknown_or_older_incarnations_are_refused() -> None:
    cluster = Cluster(1)
    old = cluster.epoch(1)
    cluster.register(1)
    before = cluster.image
    assert beat(cluster, 1, old, 99).error == ErrorCode.STALE_BROKER_EPOCH
    assert beat(cluster, 9, 1, 99).error == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert cluster.image is before


def test_a_new_incarnation_loses_what_the_old_one_led_to_the_next_in_the_isr() -> None:
    cluster = Cluster(3)
    before = cluster.create("a", (1, 2, 3))
    cluster.register(1)
    after = cluster.partition("a")
    assert (after.leader, after.leader_epoch) == (2, before.leader_epoch + 1)


def test_an_unclean_start_leaves_every_isr_in_which_others_remain() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.create("b", (3, 1))
    cluster.register(1)
    assert cluster.partition("a").isr == (2, 3)
    assert cluster.partition("b").isr == (3,)


def test_a_marker_of_an_earlier_run_makes_the_start_unclean() -> None:
    cluster = Cluster(2)
    first = cluster.epoch(1)
    cluster.start(1, clean_epoch=first)
    cluster.create("a", (1, 2))
    cluster.start(1, clean_epoch=first)
    assert cluster.partition("a").isr == (2,)


def test_a_clean_start_keeps_its_place_in_the_isr_but_not_the_lead() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.register(1, clean_epoch=cluster.epoch(1))
    after = cluster.partition("a")
    assert (after.isr, after.leader, after.leader_epoch) == ((1, 2), 2, 1)


def test_a_clean_start_that_never_comes_up_loses_its_place_when_its_session_ends() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.register(1, clean_epoch=cluster.epoch(1))
    cluster.fence(1)
    assert cluster.partition("a").isr == (2,)


def test_alone_in_the_isr_a_new_incarnation_leads_again_only_in_a_new_epoch() -> None:
    for clean in (False, True):
        cluster = Cluster(1)
        cluster.create("a", (1,))
        cluster.register(1, clean_epoch=cluster.epoch(1) if clean else None)
        waiting = cluster.partition("a")
        assert (waiting.leader, waiting.isr, waiting.leader_epoch) == (NO_LEADER, (1,), 1)
        cluster.heartbeat(1)
        assert (cluster.partition("a").leader, cluster.partition("a").leader_epoch) == (1, 2)


def test_silence_fences_a_broker_and_moves_what_it_leads() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.fence(1)
    after = cluster.partition("a")
    assert cluster.image.brokers[1].fenced
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (2, (2, 3), 1, 1)


def test_a_fenced_follower_leaves_the_isr_without_disturbing_the_leader() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.fence(2)
    after = cluster.partition("a")
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (1, (1,), 0, 1)


def test_when_all_fall_silent_the_last_one_heard_stays_in_the_isr() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.pass_time(1.0, 1, 2)
    cluster.pass_time(1.0, 2)
    cluster.pass_time(5.0)
    after = cluster.partition("a")
    assert (after.isr, after.leader) == ((2,), NO_LEADER)
    cluster.heartbeat(1)
    assert cluster.partition("a").leader == NO_LEADER
    cluster.heartbeat(2)
    assert cluster.partition("a").leader == 2


def test_a_fenced_broker_that_is_heard_again_is_unfenced_in_its_old_epoch() -> None:
    cluster = Cluster(2)
    epoch = cluster.epoch(2)
    cluster.fence(2)
    assert not beat(cluster, 2, epoch, cluster.next_offset).fenced


def test_where_the_topic_allows_it_a_replica_outside_the_isr_takes_over() -> None:
    cluster = Cluster(2)
    cluster.create("safe", (1, 2))
    cluster.create("eager", (1, 2), unclean="true")
    cluster.fence(2)
    cluster.heartbeat(2)
    cluster.fence(1)
    assert (cluster.partition("safe").leader, cluster.partition("safe").isr) == (NO_LEADER, (1,))
    assert (cluster.partition("eager").leader, cluster.partition("eager").isr) == (2, (2,))


def test_a_stopping_broker_hands_over_at_once_and_may_stop() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.create("b", (2, 1))
    assert cluster.heartbeat(1, stop=True).may_stop
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (2, (2, 3))
    assert (cluster.partition("b").leader, cluster.partition("b").isr) == (2, (2,))


def test_a_stopping_broker_that_is_alone_in_the_isr_stays_there_and_may_stop() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1,))
    assert cluster.heartbeat(1, stop=True).may_stop
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (NO_LEADER, (1,))


def test_a_late_ordinary_heartbeat_does_not_bring_a_stopping_broker_back() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.heartbeat(1, stop=True)
    assert cluster.heartbeat(1).may_stop
    assert cluster.image.live_brokers() == {2}


def test_a_broker_that_stopped_and_went_is_fenced_and_may_come_back() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1,))
    epoch = cluster.epoch(1)
    cluster.heartbeat(1, stop=True)
    cluster.fence(1)
    assert cluster.image.brokers[1].fenced
    cluster.start(1, clean_epoch=epoch)
    assert cluster.partition("a").leader == 1


def test_after_all_restart_uncleanly_only_the_last_isr_member_leads() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    for broker in (1, 2, 3):
        cluster.register(broker)
    assert cluster.partition("a").isr == (3,)
    cluster.heartbeat(1)
    assert cluster.partition("a").leader == NO_LEADER
    cluster.heartbeat(3)
    assert cluster.partition("a").leader == 3


def test_after_all_stop_cleanly_without_the_controller_any_of_them_may_lead() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    for broker in (1, 2):
        cluster.start(broker, clean_epoch=cluster.epoch(broker))
    cluster.fence(3)
    assert cluster.partition("a").isr == (1, 2)
    assert cluster.partition("a").leader in (1, 2)


TWO_IN_SYNC = ControllerSettings(session_timeout_s=SESSION_S, topic_defaults={"min.insync.replicas": "2"})


def test_the_last_in_sync_that_comes_back_uncleanly_gives_way_to_one_that_stopped_cleanly() -> None:
    """What was acknowledged by 1 and 2 is in 1's log alone when 2 has lost its tail."""
    cluster = Cluster(3, TWO_IN_SYNC)
    cluster.create("a", (1, 2, 3))
    cluster.fence(3)
    stopped = cluster.epoch(1)
    cluster.heartbeat(1, stop=True)
    assert (cluster.partition("a").leader, cluster.partition("a").isr, cluster.partition("a").elr) == (2, (2,), (1,))
    cluster.start(2)
    waiting = cluster.partition("a")
    assert (waiting.leader, waiting.isr, waiting.elr) == (NO_LEADER, (1,), ())
    cluster.start(3)
    assert cluster.partition("a").leader == NO_LEADER
    cluster.start(1, clean_epoch=stopped)
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (1, (1,))


def test_one_that_left_a_too_small_isr_leads_when_the_last_in_sync_is_gone() -> None:
    cluster = Cluster(2, TWO_IN_SYNC)
    cluster.create("a", (1, 2))
    cluster.alter(1, cluster.isr_change("a", 1))
    assert cluster.partition("a").elr == (2,)
    cluster.fence(1)
    after = cluster.partition("a")
    assert (after.leader, after.isr, after.elr, after.leader_epoch) == (2, (2,), (1,), 1)


def test_one_that_joined_a_large_enough_isr_leaves_nobody_else_eligible() -> None:
    cluster = Cluster(3, TWO_IN_SYNC)
    cluster.create("a", (1, 2, 3))
    cluster.alter(1, cluster.isr_change("a", 1))
    assert cluster.partition("a").elr == (2, 3)
    cluster.alter(1, cluster.isr_change("a", 1, 3))
    assert cluster.partition("a").elr == ()


def test_of_two_that_come_back_uncleanly_the_one_with_all_its_log_leads() -> None:
    """1 was killed and has everything in its page cache still; 2, the last in sync, has lost its tail."""
    cluster = Cluster(3, TWO_IN_SYNC)
    cluster.create("a", (2, 1, 3))
    cluster.fence(3)
    cluster.fence(1)
    assert (cluster.partition("a").isr, cluster.partition("a").elr) == ((2,), (1,))
    cluster.pass_time(SESSION_S + STEP_S)
    cluster.start(1, a=(0, 100))
    cluster.start(3, a=(0, 40))
    waiting = cluster.partition("a")
    assert (waiting.leader, waiting.isr, waiting.elr, waiting.recalled) == (NO_LEADER, (2,), (), ((1, 0, 100),))
    cluster.start(2, a=(0, 90))
    assert (cluster.partition("a").leader, cluster.partition("a").isr) == (1, (1,))
    cluster.alter(1, cluster.isr_change("a", 1, 2))
    assert cluster.partition("a").recalled == ()
    assert cluster.replayed() == cluster.image


def test_a_broker_without_a_log_of_the_partition_is_the_last_to_lead() -> None:
    cluster = Cluster(2, TWO_IN_SYNC)
    cluster.create("a", (1, 2))
    cluster.pass_time(2 * SESSION_S)
    cluster.start(1)
    cluster.start(2, a=(0, 1))
    assert cluster.partition("a").leader == 2
