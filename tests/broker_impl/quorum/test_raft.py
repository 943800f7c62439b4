from random import Random

import msgspec
import pytest

from broker_impl.quorum.raft import RaftMessage, RaftSettings
from broker_impl.quorum.raft_messages import Append, AppendReply, Entry, Observe, SnapshotChunk, SnapshotReply, VoteReply, VoteRequest
from tests.broker_impl.quorum.raft_group import Group, make, payloads, work


def append(prev_index, prev_term, *entries, term=1, commit=0):
    return Append(1, 2, term, prev_index, prev_term, tuple(entries), commit)


def entry(index, term):
    return Entry(index, term, b"new %d/%d" % (index, term))


def led_group(*rafts, leader=1):
    group = Group(*rafts)
    group.elect(leader)
    return group


def test_a_proposal_is_applied_everywhere_in_order():
    group = led_group(make(1), make(2), make(3))
    leader = group.nodes[1]
    assert [leader.propose(payload, group.now) for payload in (b"a", b"b")] == [2, 3]
    group.settle()
    assert group.applied == {1: [b"a", b"b"], 2: [b"a", b"b"], 3: [b"a", b"b"]}


def test_a_follower_refuses_proposals():
    assert make(1).propose(b"x", 0.0) is None


def test_nothing_is_committed_without_a_majority():
    group = led_group(make(1), make(2), make(3))
    group.away = {2, 3}
    group.nodes[1].propose(b"x", group.now)
    group.settle()
    assert group.nodes[1].commit_index == 1


def test_the_leader_counts_its_own_entry_only_when_it_is_on_disk():
    group = led_group(make(1, (1, 2)), make(2, (1, 2)))
    leader = group.nodes[1]
    leader.propose(b"x", group.now)
    ready = leader.take()
    assert ready
    leader.receive(AppendReply(2, 1, leader.term, True, 2), group.now)
    assert leader.commit_index == 1
    leader.done(ready, group.now)
    assert leader.commit_index == 2


def test_at_most_one_unit_of_work_is_out_and_what_comes_meanwhile_goes_into_the_next():
    raft = make(1, (1,))
    first = raft.take()
    raft.propose(b"x", 0.0)
    assert first and raft.take() is None
    raft.done(first, 0.0)
    second = raft.take()
    assert second and [entry.payload for entry in second.append] == [b"x"]


def test_entries_and_their_acknowledgement_are_in_one_unit_of_work():
    raft = make(2)
    raft.receive(append(0, 0, entry(1, 1)), 0.0)
    ready = raft.take()
    assert ready and ready.append == [entry(1, 1)] and ready.must_sync
    assert ready.messages == [AppendReply(2, 1, 1, True, 1)]


def test_a_heartbeat_needs_no_sync():
    raft = make(2, term=1)
    raft.receive(append(0, 0), 0.0)
    ready = raft.take()
    assert ready and not ready.must_sync and ready.messages


def test_conflicting_entries_are_cut_and_replaced():
    raft = make(2, term=2, terms=[1, 1, 2, 2])
    raft.receive(append(2, 1, entry(3, 3), term=3), 0.0)
    ready = raft.take()
    assert ready and (ready.truncate_from, ready.append) == (3, [entry(3, 3)])
    assert payloads(raft) == [b"1/1", b"2/1", b"new 3/3"]


def test_entries_already_held_are_not_cut_by_a_late_copy_of_an_earlier_message():
    raft = make(2, term=1, terms=[1, 1, 1])
    raft.receive(append(0, 0, Entry(1, 1, b"1/1")), 0.0)
    assert raft.last_index == 3 and work(raft) == [AppendReply(2, 1, 1, True, 1)]


def test_a_conflict_that_comes_while_its_victims_are_being_written_cuts_them_in_the_next_write():
    raft = make(2)
    raft.receive(append(0, 0, entry(1, 1), entry(2, 1)), 0.0)
    writing = raft.take()
    raft.receive(append(1, 1, entry(2, 2), term=2), 0.0)
    assert writing
    raft.done(writing, 0.0)
    assert raft.log.stable == 1
    ready = raft.take()
    assert ready and (ready.truncate_from, ready.append) == (2, [entry(2, 2)])


def test_a_refused_append_says_where_the_logs_might_agree():
    raft = make(2, term=5, terms=[1, 1, 2, 2, 3])
    raft.receive(append(8, 5, term=5), 0.0)
    raft.receive(append(4, 1, term=5), 0.0)
    assert work(raft) == [AppendReply(2, 1, 5, False, 8, 5, 3), AppendReply(2, 1, 5, False, 4, 2, 1)]


def test_a_long_divergence_is_passed_in_few_round_trips():
    group = Group(make(1, term=9, terms=[1] * 5 + [4] * 50 + [7] * 50), make(2, term=9, terms=[1] * 5 + [2] * 80 + [3] * 40))
    for raft in group.nodes.values():
        raft.voters = (1, 2)
    group.elect(1)
    refusals = [message for message in group.sent if isinstance(message, AppendReply) and not message.accepted]
    assert len(refusals) <= 3
    assert payloads(group.nodes[1]) == payloads(group.nodes[2])


def test_a_follower_commits_no_further_than_it_agrees_with_the_leader():
    raft = make(2, term=2, terms=[1, 1, 1])
    raft.receive(append(1, 1, entry(2, 1), term=2, commit=3), 0.0)
    assert raft.commit_index == 2


def test_an_entry_of_an_earlier_term_is_not_committed_by_counting():
    raft = make(1, term=3, terms=[1, 2])
    raft.tick(raft.next_deadline())
    raft.receive(VoteReply(2, 1, 3, True, True), 0.0)
    raft.receive(VoteReply(2, 1, 4, True, False), 0.0)
    work(raft)
    raft.receive(AppendReply(2, 1, 4, True, 2), 0.0)
    assert raft.commit_index == 0
    raft.receive(AppendReply(2, 1, 4, True, 3), 0.0)
    assert raft.commit_index == 3


def test_an_append_is_bounded_in_bytes_but_carries_at_least_one_entry():
    group = Group(*(make(node, settings=RaftSettings(max_batch_bytes=900)) for node in (1, 2, 3)))
    leader = group.elect(1)
    for size in (300, 300, 300, 5000, 300):
        leader.propose(bytes(size), group.now)
    group.sent.clear()
    group.settle()
    appends = [message for message in group.sent if isinstance(message, Append) and message.to == 2 and message.entries]
    assert [[len(entry.payload) for entry in message.entries] for message in appends] == [[300, 300], [300], [5000], [300]]


def test_appends_in_flight_to_one_peer_are_bounded():
    settings = RaftSettings(max_batch_bytes=1, max_inflight=3)
    group = led_group(*(make(node, settings=settings) for node in (1, 2, 3)))
    for _ in range(10):
        group.nodes[1].propose(b"x", group.now)
    sent = [message for message in work(group.nodes[1]) if isinstance(message, Append) and message.to == 2 and message.entries]
    assert len(sent) == 3


@pytest.mark.parametrize("lost", range(4))
def test_a_lost_append_is_found_out_by_the_next_heartbeat(lost):
    settings = RaftSettings(max_batch_bytes=1)
    group = led_group(*(make(node, (1, 2), settings=settings) for node in (1, 2)))
    leader, follower = group.nodes.values()
    for _ in range(4):
        leader.propose(b"x", group.now)
    appends = [message for message in work(leader) if isinstance(message, Append)]
    for position, message in enumerate(appends):
        if position != lost:
            follower.receive(message, group.now)
    group.settle()
    group.tick(1)
    group.settle()
    assert follower.commit_index == leader.commit_index == 5


def test_answers_that_come_late_and_in_disorder_do_not_feed_new_traffic():
    settings = RaftSettings(max_batch_bytes=1, max_inflight=8)
    group = led_group(*(make(node, (1, 2), settings=settings) for node in (1, 2)))
    leader, follower = group.nodes.values()
    random = Random(7)
    for _ in range(40):
        leader.propose(b"x", group.now)
    wire, sent = work(leader), 0
    while wire:
        message = wire.pop(random.randrange(len(wire)))
        receiver = group.nodes[message.to]
        receiver.receive(message, group.now)
        fresh = work(receiver)
        wire += fresh
        sent += len([one for one in fresh if isinstance(one, Append) and one.entries])
        assert len([one for one in wire if isinstance(one, Append) and one.entries]) <= 4 * settings.max_inflight
    assert follower.last_index == leader.last_index == leader.commit_index == 41
    assert sent <= 40 * settings.max_inflight


def test_followers_learn_of_a_commit_without_waiting_for_a_heartbeat():
    group = led_group(make(1), make(2), make(3))
    group.nodes[1].propose(b"x", group.now)
    group.settle()
    assert [raft.commit_index for raft in group.nodes.values()] == [2, 2, 2]


def test_an_unreachable_peer_is_sent_nothing_but_heartbeats():
    group = led_group(make(1), make(2), make(3))
    group.away = {3}
    group.nodes[1].propose(bytes(100_000), group.now)
    group.settle()
    group.sent.clear()
    group.pass_time(5.0)
    assert not any(message.entries for message in group.sent if isinstance(message, Append) and message.to == 3)


def test_progress_shows_what_each_node_has_and_when_it_was_heard():
    group = led_group(make(1), make(2), make(3))
    group.away = {3}
    group.nodes[1].propose(b"x", group.now)
    group.settle()
    assert {node: progress.match_index for node, progress in group.nodes[1].progress().items()} == {1: 2, 2: 2, 3: 1}
    assert group.nodes[2].progress() == {}


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="half the election time-out"):
        RaftSettings(heartbeat_s=0.6)


@pytest.mark.parametrize(
    "message",
    [
        VoteRequest(1, 2, 3, 4, 5, True),
        VoteReply(1, 2, 3, True, False),
        append(4, 3, entry(5, 4)),
        AppendReply(1, 2, 3, False, 4, 5, 6),
        SnapshotChunk(1, 2, 3, 4, 5, 6, 0, b"abc"),
        SnapshotReply(1, 2, 3, 4, 5),
        Observe(1, 2, 3, 4),
    ],
    ids=lambda message: type(message).__name__,
)
def test_every_message_survives_the_wire(message):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=RaftMessage) == message
