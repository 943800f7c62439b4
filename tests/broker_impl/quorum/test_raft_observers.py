from broker_impl.quorum.raft import RaftSettings
from broker_impl.quorum.raft_messages import Append, Observe
from tests.broker_impl.quorum.raft_group import LONG, SETTINGS, Group, make, work


def group_with_observer(settings=SETTINGS):
    group = Group(*(make(node, settings=settings) for node in (1, 2, 3, 9)))
    group.elect(2)
    group.pass_time(1.0)
    return group


def test_an_observer_asks_the_voters_in_turn_until_it_hears_a_leader():
    observer = make(9)
    asked = []
    for _ in range(4):
        observer.tick(observer.next_deadline())
        asked += [message.to for message in work(observer) if isinstance(message, Observe)]
    assert asked == [1, 2, 3, 1]


def test_an_observer_follows_the_log_of_the_leader_it_found():
    group = group_with_observer()
    group.nodes[2].propose(b"x", group.now)
    group.settle()
    assert (group.nodes[9].role, group.nodes[9].leader_id, group.applied[9]) == ("observer", 2, [b"x"])


def test_an_observer_is_never_counted_for_a_commit():
    group = group_with_observer()
    group.away = {1, 3}
    group.nodes[2].propose(b"x", group.now)
    group.settle()
    assert group.nodes[2].progress()[9].match_index == 2
    assert group.nodes[2].commit_index == 1


def test_an_observer_does_not_keep_a_leader_without_majority_in_office():
    group = group_with_observer()
    group.away = {1, 3}
    group.pass_time(LONG)
    assert group.nodes[2].role != "leader"


def test_an_observer_never_campaigns_and_asks_again_when_its_leader_falls_silent():
    group = group_with_observer()
    group.away = {2}
    group.pass_time(LONG)
    assert group.nodes[9].role == "observer" and group.nodes[9].leader_id in (1, 3)


def test_an_observer_that_lost_its_disk_is_sent_everything_again():
    group = group_with_observer()
    group.nodes[2].propose(b"x", group.now)
    group.settle()
    group.nodes[9], group.applied[9] = make(9), []
    group.pass_time(2.0)
    assert group.applied[9] == [b"x"]


def test_an_observer_not_heard_of_for_long_is_forgotten():
    group = group_with_observer()
    group.away = {9}
    group.pass_time(LONG)
    assert set(group.nodes[2].progress()) == {1, 2, 3}


def test_an_observer_far_behind_gets_the_snapshot():
    group = Group(*(make(node, settings=RaftSettings(kept_entries=0)) for node in (1, 2, 3, 9)))
    leader = group.elect(1)
    leader.propose(b"x", group.now)
    group.settle()
    leader.compact(leader.commit_index, b"state")
    group.pass_time(1.0)
    assert group.applied[9] == [b"state"]


def test_a_voter_that_calls_itself_an_observer_keeps_its_place():
    group = Group(make(1), make(2), make(3))
    leader = group.elect(1)
    leader.receive(Observe(2, 1, leader.term, 0), group.now)
    assert leader.progress()[2].match_index == 1
    assert not [message for message in work(leader) if isinstance(message, Append)]
