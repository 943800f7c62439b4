"""What a new leader may conclude about its predecessor: since when nobody can have followed it.

`followed_at` of a leader and `silence_s` of its successor must never contradict each other; the simulation checks that on thousands of
schedules, here are the corners by hand.
"""

import pytest

from broker_impl.quorum.raft_messages import Append, AppendReply, SnapshotChunk, SnapshotReply, TakeOver, VoteReply, VoteRequest
from tests.broker_impl.quorum.raft_group import Group, make, work


def vote_of(raft, now, term):
    raft.receive(VoteRequest(3, raft.node_id, term, 100, term, False), now)
    [reply] = [message for message in work(raft, now) if isinstance(message, VoteReply)]
    assert reply.granted
    return reply


def echoes(raft):
    return [message.sent for message in work(raft) if isinstance(message, AppendReply | SnapshotReply)]


def led_by_one(*nodes):
    group = Group(*nodes)
    group.elect(1)
    group.pass_time(0.5)
    return group


def test_a_leader_whose_predecessor_fell_silent_knows_for_how_long():
    group = led_by_one(make(1), make(2), make(3))
    followed = group.nodes[1].followed_at
    group.away = {1}
    group.pass_time(5.0)
    [new] = [raft for raft in group.nodes.values() if raft.role == "leader" and raft.node_id != 1]
    assert 1.0 <= new.silence_s <= 1.6
    assert followed <= group.now - new.silence_s


def test_a_leader_that_was_asked_to_take_over_assumes_no_silence():
    group = led_by_one(make(1), make(2), make(3))
    group.nodes[2].receive(TakeOver(1, 2, group.nodes[1].term), group.now)
    group.settle()
    assert group.nodes[2].role == "leader"
    assert group.nodes[2].silence_s <= 0.1


def test_the_shortest_silence_of_those_who_elect_counts():
    raft = make(1, (1, 2, 3, 4, 5))
    raft.tick(raft.next_deadline())
    for voter in (2, 3):
        raft.receive(VoteReply(voter, 1, 0, True, True), 8.0)
    for voter, silence in ((2, 3.0), (3, 0.25)):
        raft.receive(VoteReply(voter, 1, 1, True, False, silence), 8.0)
    assert raft.role == "leader"
    assert raft.silence_s == 0.25


def test_a_voter_counts_its_silence_from_the_last_word_of_a_leader():
    raft = make(2)
    raft.receive(Append(3, 2, 1, 0, 0, (), 0), 5.0)
    work(raft)
    assert vote_of(raft, 6.25, 2).silence_s == 1.25


def test_a_voter_that_started_since_counts_from_its_start():
    assert vote_of(make(2), 3.0, 1).silence_s == 3.0


@pytest.mark.parametrize("later", [0.0, 2.0])
def test_a_leader_has_heard_itself_until_it_resigned(later):
    """Its own vote counts in two majorities: in the one that followed it, and in the one that elects another, or itself again."""
    group = led_by_one(make(1), make(2), make(3))
    leader = group.nodes[1]
    leader.receive(AppendReply(2, 1, leader.term + 1, False, 0), group.now)
    assert leader.role == "follower"
    assert vote_of(leader, group.now + later, leader.term).silence_s == later


def test_a_leader_is_followed_as_far_as_a_majority_has_answered():
    raft = make(1, (1, 2, 3, 4, 5))
    raft.tick(raft.next_deadline())
    for pre, term in ((True, 0), (False, 1)):
        for voter in (2, 3):
            raft.receive(VoteReply(voter, 1, term, True, pre), 1.0)
    assert raft.followed_at == float("-inf")
    raft.receive(AppendReply(2, 1, 1, True, 1, sent=3.0), 4.0)
    assert raft.followed_at == float("-inf"), "two of five are no majority"
    raft.receive(AppendReply(3, 1, 1, False, 1, sent=2.0), 4.0)
    assert raft.followed_at == 2.0, "whoever refuses an entry still follows"
    raft.receive(SnapshotReply(4, 1, 1, 1, 0, sent=2.5), 4.0)
    assert raft.followed_at == 2.5
    raft.receive(AppendReply(5, 1, 1, True, 1, sent=1.0), 5.0)
    assert raft.followed_at == 2.5, "an answer to something old says nothing new"


@pytest.mark.parametrize("message", [Append(1, 2, 1, 0, 0, (), 0, sent=7.0), SnapshotChunk(1, 2, 1, 5, 1, 9, 0, b"x", sent=7.0)])
def test_who_follows_repeats_when_it_was_sent_and_who_does_not_is_silent_about_it(message):
    follower, elsewhere = make(2), make(2, term=4)
    for raft in (follower, elsewhere):
        raft.receive(message, 1.0)
    assert echoes(follower) == [7.0]
    assert echoes(elsewhere) == [0.0]


def test_a_voter_alone_follows_itself_and_one_that_does_not_lead_is_followed_by_nobody():
    assert make(1, (1,)).followed_at == float("inf")
    assert make(1).followed_at == float("-inf")
