import pytest

from broker_impl.quorum.raft_messages import Append, AppendReply, HardState, TakeOver, VoteReply, VoteRequest
from tests.broker_impl.quorum.raft_group import LONG, SETTINGS, Group, make, work


def ask(candidate=1, to=2, term=1, last_index=0, last_term=0, pre=False):
    return VoteRequest(candidate, to, term, last_index, last_term, pre)


def answers(raft, *requests, now=0.0):
    for request in requests:
        raft.receive(request, now)
    return [message.granted for message in work(raft) if isinstance(message, VoteReply)]


def heartbeat(leader=1, to=2, term=1, prev_index=0, prev_term=0):
    return Append(leader, to, term, prev_index, prev_term, (), 0)


def test_three_nodes_elect_one_leader_and_it_serves_once_its_first_entry_is_committed():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    assert [raft.leader_id for raft in group.nodes.values()] == [1, 1, 1]
    assert leader.serving and leader.commit_index == 1


def test_a_single_voter_leads_at_once_and_serves_when_its_entry_is_on_disk():
    raft = make(1, (1,))
    assert raft.role == "leader" and not raft.serving
    ready = raft.take()
    assert ready and ready.hard_state == HardState(1, 1) and ready.committed == []
    raft.done(ready, 0.0)
    assert not raft.serving
    work(raft)
    assert raft.serving


def test_a_leader_does_not_serve_before_an_entry_of_its_own_term_is_applied():
    raft = make(1, term=1, terms=[1, 1])
    raft.tick(raft.next_deadline())
    raft.receive(VoteReply(2, 1, 1, True, True), 0.0)
    raft.receive(VoteReply(2, 1, 2, True, False), 0.0)
    work(raft)
    assert raft.role == "leader" and not raft.serving
    raft.receive(AppendReply(2, 1, 2, True, 3), 0.0)
    assert raft.commit_index == 3 and not raft.serving
    work(raft)
    assert raft.serving


def test_one_vote_is_given_in_a_term():
    assert answers(make(2), ask(1), ask(3), ask(1)) == [True, False, True]


def test_a_vote_leaves_only_together_with_the_write_that_remembers_it():
    raft = make(2)
    raft.receive(ask(1), 0.0)
    ready = raft.take()
    assert ready and ready.must_sync and ready.hard_state == HardState(1, 1)
    assert ready.messages == [VoteReply(2, 1, 1, True, False)]


def test_a_vote_given_before_a_restart_is_not_given_to_another_after_it():
    assert answers(make(2, term=1, voted_for=1), ask(3)) == [False]


def test_a_newer_term_frees_the_vote():
    assert answers(make(2, term=1, voted_for=1), ask(3, term=2)) == [True]


@pytest.mark.parametrize(("last_index", "last_term", "granted"), [(2, 1, False), (3, 1, False), (1, 2, False), (2, 2, True), (1, 3, True)])
def test_a_vote_goes_only_to_a_log_that_is_not_behind(last_index, last_term, granted):
    raft = make(2, term=3, terms=[1, 2])
    assert answers(raft, ask(term=4, last_index=last_index, last_term=last_term)) == [granted]


def test_a_vote_for_an_old_term_is_refused_with_the_newer_term():
    raft = make(2, term=5)
    raft.receive(ask(term=4), 0.0)
    assert work(raft) == [VoteReply(2, 1, 5, False, False)]


def test_nodes_that_are_not_voters_get_no_vote_and_give_none():
    assert answers(make(2), ask(candidate=9)) == []
    assert answers(make(9), ask(to=9)) == []


def test_a_pre_vote_changes_neither_term_nor_vote():
    raft = make(2)
    assert answers(raft, ask(1, term=0, pre=True), ask(3, term=0, pre=True)) == [True, True]
    assert (raft.term, raft.voted_for, raft.take()) == (0, None, None)


def test_a_candidate_that_reaches_nobody_never_raises_its_term():
    raft = make(1)
    for _ in range(20):
        raft.tick(raft.next_deadline())
        work(raft)
    assert (raft.role, raft.term) == ("candidate", 0)


def test_a_node_that_has_just_started_asks_again_soon_until_somebody_is_there():
    raft = make(3)
    for _ in range(20):
        asked = raft.next_deadline()
        raft.tick(asked)
        assert [isinstance(request, VoteRequest) and request.pre for request in work(raft)] == [True, True]
        assert raft.next_deadline() - asked < SETTINGS.election_timeout_s / 2


@pytest.mark.parametrize("heard", [heartbeat(to=3, term=1), ask(1, to=3)], ids=["a leader", "a candidate it voted for"])
def test_a_node_that_has_heard_somebody_waits_a_whole_time_out(heard):
    raft = make(3)
    raft.receive(heard, 0.0)
    work(raft)
    for _ in range(3):
        before = raft.next_deadline()
        raft.tick(before)
        assert raft.next_deadline() - before >= SETTINGS.election_timeout_s


def test_a_candidate_whose_election_failed_waits_a_whole_time_out():
    raft = make(1)
    raft.tick(raft.next_deadline())
    raft.receive(VoteReply(2, 1, 0, True, True), 0.0)
    assert raft.term == 1 and raft.next_deadline() >= SETTINGS.election_timeout_s
    raft.tick(raft.next_deadline())
    assert raft.next_deadline() >= 2 * SETTINGS.election_timeout_s


def test_a_node_that_has_just_started_lets_another_go_first_that_asks_before_it():
    raft = make(3)
    about_to_ask = raft.next_deadline()
    assert answers(raft, ask(1, to=3, term=0, pre=True), now=about_to_ask) == [True]
    assert raft.next_deadline() >= about_to_ask + SETTINGS.election_timeout_s * 0.02


def test_a_pre_vote_is_refused_while_a_leader_is_heard_and_given_when_it_falls_silent():
    raft = make(2)
    raft.receive(heartbeat(), 0.0)
    work(raft)
    assert answers(raft, ask(3, term=1, pre=True), now=SETTINGS.election_timeout_s * 0.99) == [False]
    assert answers(raft, ask(3, term=1, pre=True), now=SETTINGS.election_timeout_s) == [True]


def test_a_node_that_was_cut_off_does_not_depose_the_leader_when_it_returns():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    group.away = {3}
    group.pass_time(LONG)
    assert group.nodes[3].role == "candidate"
    group.away = set()
    group.pass_time(LONG)
    assert (leader.role, leader.term, group.nodes[3].leader_id) == ("leader", 1, 1)


def test_a_follower_that_hears_its_leader_in_time_does_not_campaign():
    raft = make(2)
    raft.receive(heartbeat(), 0.0)
    raft.tick(SETTINGS.election_timeout_s)
    assert raft.role == "follower"


def test_a_leader_steps_down_for_a_newer_term():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    leader.receive(AppendReply(2, 1, leader.term + 4, False, 0), group.now)
    assert (leader.role, leader.term, leader.leader_id, leader.serving) == ("follower", 5, None, False)


def test_a_stale_leader_learns_the_newer_term_from_the_answer_to_its_heartbeat():
    raft = make(2, term=7)
    raft.receive(heartbeat(term=3), 0.0)
    (reply,) = work(raft)
    assert isinstance(reply, AppendReply) and not reply.accepted and reply.term == 7
    assert raft.leader_id is None


def test_a_leader_that_hears_no_majority_resigns_within_an_election_timeout():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    group.away = {2, 3}
    elected_at = group.now
    while leader.role == "leader":
        group.pass_time(SETTINGS.heartbeat_s)
    assert group.now <= elected_at + SETTINGS.election_timeout_s + 2 * SETTINGS.heartbeat_s
    assert leader.propose(b"x", group.now) is None


def test_a_leader_that_hears_a_majority_stays():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    group.away = {3}
    group.pass_time(LONG)
    assert leader.role == "leader"


def test_silence_is_not_judged_by_a_process_that_was_itself_stalled():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    follower = group.nodes[2]
    group.now += LONG
    for raft in (leader, follower):
        raft.tick(group.now)
    assert (leader.role, follower.role) == ("leader", "follower")
    assert min(leader.next_deadline(), follower.next_deadline()) > group.now
    group.away = {1, 2}
    group.pass_time(3 * SETTINGS.heartbeat_s)
    assert (leader.role, follower.role) == ("follower", "candidate")


def test_a_process_that_is_always_late_still_campaigns_and_resigns():
    group = Group(make(1), make(2), make(3))
    leader, follower = group.elect(1), group.nodes[2]
    for _ in range(2):
        leader.tick(leader.next_deadline() + LONG)
        follower.tick(follower.next_deadline() + LONG)
    assert (leader.role, follower.role) == ("follower", "candidate")


def test_a_candidate_follows_a_leader_of_its_term():
    raft = make(2)
    raft.tick(raft.next_deadline())
    assert raft.role == "candidate"
    raft.receive(heartbeat(term=0), 1.0)
    assert (raft.role, raft.leader_id) == ("follower", 1)


def test_votes_of_an_old_term_and_repeated_votes_do_not_count():
    raft = make(1, (1, 2, 3, 4, 5))
    raft.tick(raft.next_deadline())
    for sender in (2, 3):
        raft.receive(VoteReply(sender, 1, 0, True, True), 0.0)
    assert raft.term == 1
    for reply in (VoteReply(2, 1, 1, True, False), VoteReply(2, 1, 1, True, False), VoteReply(3, 1, 0, True, True)):
        raft.receive(reply, 0.0)
    assert raft.leader_id is None
    raft.receive(VoteReply(4, 1, 1, True, False), 0.0)
    assert raft.leader_id == 1


def test_messages_for_somebody_else_are_ignored():
    raft = make(2)
    raft.receive(ask(to=3), 0.0)
    assert raft.take() is None


def test_a_leader_that_hands_over_is_followed_at_once_by_the_voter_with_the_longest_log():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    assert leader.hand_over() in (2, 3)
    group.settle()
    (heir,) = [raft for raft in group.nodes.values() if raft.role == "leader"]
    assert heir.node_id != 1 and heir.serving and heir.term == 2
    assert leader.role == "follower" and leader.leader_id == heir.node_id


def test_only_the_present_leader_can_hand_over():
    follower = make(2, term=1)
    follower.receive(heartbeat(1, 2, 1), 0.0)
    work(follower)
    follower.receive(TakeOver(3, 2, 1), 0.0)
    follower.receive(TakeOver(1, 2, 0), 0.0)
    assert (follower.role, follower.term) == ("follower", 1)
    assert follower.hand_over() is None
    follower.receive(TakeOver(1, 2, 1), 0.0)
    assert (follower.role, follower.term) == ("candidate", 2)


def test_a_leader_alone_has_nobody_to_hand_over_to():
    raft = make(1, (1,))
    work(raft)
    assert raft.hand_over() is None
