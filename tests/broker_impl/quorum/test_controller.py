from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import CreateTopics, Heartbeat, HeartbeatReply, NewTopic, RegisterBroker, Registered
from broker_impl.quorum.controller import Controller
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import NO_LEADER, BrokerFenced
from tests.broker_impl.quorum.cluster import SESSION_S, STEP_S, Cluster


def test_the_tail_is_the_replay_of_every_record_it_returned() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    cluster.fence(1)
    cluster.start(2)
    assert cluster.replayed() == cluster.image


def test_entries_without_records_leave_gaps_in_the_offsets() -> None:
    cluster = Cluster()
    decision = cluster.controller.handle(RegisterBroker(1, "run", "host", 9092), cluster.now, 17)
    assert decision.reply == Registered(17)
    assert cluster.controller.tail.offset == 17


def test_a_command_that_changes_nothing_returns_no_records_and_keeps_the_offset() -> None:
    cluster = Cluster(1)
    before = cluster.image
    decision = cluster.controller.handle(Heartbeat(1, cluster.epoch(1), before.offset), cluster.now, before.offset + 1)
    assert decision.records == []
    assert cluster.image is before


def test_a_command_is_judged_by_those_before_it_though_they_are_not_committed() -> None:
    cluster = Cluster(1)
    cluster.do(CreateTopics([NewTopic("a")]))
    reply = cluster.do(CreateTopics([NewTopic("a")]))
    assert [result.error for result in reply.results] == [ErrorCode.TOPIC_ALREADY_EXISTS]  # type: ignore[union-attr]


def test_a_new_controller_waits_a_whole_session_before_it_fences_anybody() -> None:
    cluster = Cluster(2)
    cluster.pass_time(2.5)
    cluster.controller = Controller(cluster.image, cluster.settings, cluster.random, cluster.now)
    cluster.pass_time(2.5)
    assert cluster.image.live_brokers() == {1, 2}
    cluster.pass_time(1.0)
    assert cluster.image.live_brokers() == frozenset()


def test_a_new_controller_ends_the_session_of_a_clean_starter_it_never_heard() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.register(1, clean_epoch=cluster.epoch(1))
    cluster.controller = Controller(cluster.image, cluster.settings, cluster.random, cluster.now)
    cluster.fence(1)
    assert cluster.partition("a").isr == (2,)


def test_a_controller_that_slept_itself_fences_nobody() -> None:
    cluster = Cluster(2)
    cluster.now += 60.0
    assert cluster.tick() == []
    assert cluster.image.live_brokers() == {1, 2}


def test_a_refused_heartbeat_does_not_prolong_the_session() -> None:
    cluster = Cluster(2)
    stale = cluster.epoch(1) - 1
    for _ in range(round(SESSION_S / STEP_S)):
        cluster.pass_time(STEP_S, 2)
        reply = cluster.do(Heartbeat(1, stale, 0))
        assert isinstance(reply, HeartbeatReply)
        assert reply.error == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.image.live_brokers() == {2}


def test_all_who_fall_silent_at_once_are_fenced_in_one_entry() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2, 3))
    entries = len(cluster.entries)
    cluster.pass_time(SESSION_S + STEP_S)
    assert len(cluster.entries) == entries + 1
    fenced = [record.id for record in cluster.entries[-1][1] if isinstance(record, BrokerFenced)]
    assert sorted(fenced) == [1, 2, 3]
    assert (cluster.partition("a").leader, len(cluster.partition("a").isr)) == (NO_LEADER, 1)


def test_a_successor_goes_on_from_a_snapshot() -> None:
    cluster = Cluster(2)
    cluster.create("a", (1, 2))
    cluster.controller = Controller(Image.decode(cluster.image.encode()), cluster.settings, cluster.random, cluster.now)
    cluster.fence(1)
    assert cluster.partition("a").leader == 2
