from broker_impl.quorum.raft import RaftSettings, Snapshot
from broker_impl.quorum.raft_messages import Append, AppendReply, Entry, SnapshotChunk, SnapshotReply
from tests.broker_impl.quorum.raft_group import SETTINGS, Group, make, payloads, work

NOTHING_KEPT = RaftSettings(kept_entries=0, max_batch_bytes=100)


def chunk(index, index_term, data, total=None, offset=0, term=5):
    return SnapshotChunk(1, 2, term, index, index_term, len(data) if total is None else total, offset, data)


def group_with_a_laggard():
    """Node 3 misses everything up to a compaction of the leader."""
    group = Group(*(make(node, settings=NOTHING_KEPT) for node in (1, 2, 3)))
    group.away = {3}
    leader = group.elect(1)
    for number in range(5):
        leader.propose(b"%d" % number, group.now)
    group.settle()
    leader.compact(leader.commit_index, b"state" * 100)
    group.settle()
    return group


def test_compaction_drops_entries_and_is_handed_to_the_disk_only():
    raft = make(1, (1,), settings=NOTHING_KEPT)
    raft.propose(b"x", 0.0)
    work(raft)
    raft.compact(2, b"state")
    ready = raft.take()
    assert ready and ready.compacted == Snapshot(2, 1, b"state") and ready.snapshot is None
    assert (raft.log.base_index, raft.last_index, raft.snapshot) == (2, 2, ready.compacted)


def test_some_entries_are_kept_behind_a_snapshot_for_peers_slightly_behind():
    raft = make(1, (1,), settings=RaftSettings(kept_entries=3))
    for _ in range(9):
        raft.propose(b"x", 0.0)
    work(raft)
    raft.compact(8, b"state")
    assert (raft.log.base_index, raft.last_index) == (5, 10)


def test_an_old_compaction_changes_nothing():
    raft = make(1, (1,), settings=NOTHING_KEPT)
    raft.propose(b"x", 0.0)
    work(raft)
    raft.compact(2, b"new")
    work(raft)
    raft.compact(1, b"old")
    assert raft.take() is None


def test_a_laggard_is_brought_up_by_snapshot_in_bounded_chunks_and_then_follows():
    group = group_with_a_laggard()
    group.away = set()
    group.nodes[1].propose(b"after", group.now)
    group.pass_time(1.0)
    chunks = [message for message in group.sent if isinstance(message, SnapshotChunk)]
    assert {part.offset for part in chunks} == {0, 100, 200, 300, 400} and max(len(part.data) for part in chunks) == 100
    assert group.applied[3] == [b"state" * 100, b"after"]
    assert group.nodes[3].commit_index == group.nodes[1].commit_index


def test_a_lost_chunk_is_found_out_by_the_next_heartbeat():
    group = group_with_a_laggard()
    assert any(isinstance(message, SnapshotChunk) and message.data for message in group.sent)
    group.away = set()
    group.settle()
    assert group.nodes[3].snapshot is None
    group.pass_time(SETTINGS.heartbeat_s)
    assert group.nodes[3].snapshot == group.nodes[1].snapshot


def test_a_snapshot_replaces_a_log_that_does_not_match_it():
    raft = make(2, term=5, terms=[1, 1, 2, 2, 2])
    raft.receive(chunk(3, 3, b"state"), 0.0)
    ready = raft.take()
    assert ready and ready.snapshot == Snapshot(3, 3, b"state") and ready.append == []
    assert ready.messages == [AppendReply(2, 1, 5, True, 3)]
    assert (raft.last_index, raft.commit_index) == (3, 3)


def test_a_snapshot_of_what_the_log_holds_only_commits_it():
    raft = make(2, term=5, terms=[1, 1, 2, 2])
    raft.receive(chunk(3, 2, b"state"), 0.0)
    ready = raft.take()
    assert ready and ready.snapshot is None
    assert [entry.index for entry in ready.committed] == [1, 2, 3] and raft.last_index == 4


def test_an_old_snapshot_is_answered_with_what_is_committed():
    raft = make(2, term=5, snapshot=Snapshot(7, 4, b"newer"))
    raft.receive(chunk(3, 2, b"state"), 0.0)
    assert work(raft) == [AppendReply(2, 1, 5, True, 7)]


def test_chunks_out_of_order_or_twice_are_not_mixed_up():
    raft = make(2, term=5)
    for offset, data in ((0, b"ab"), (4, b"ef"), (0, b"ab"), (2, b"cd"), (2, b"cd")):
        raft.receive(chunk(9, 4, data, total=6, offset=offset), 0.0)
    assert [reply.received for reply in work(raft) if isinstance(reply, SnapshotReply)] == [2, 2, 2, 4, 4]
    raft.receive(chunk(9, 4, b"ef", total=6, offset=4), 0.0)
    ready = raft.take()
    assert ready and ready.snapshot == Snapshot(9, 4, b"abcdef")


def test_chunks_of_another_leader_start_over():
    raft = make(2, term=5)
    raft.receive(chunk(9, 4, b"ab", total=4), 0.0)
    raft.receive(SnapshotChunk(3, 2, 6, 9, 4, 4, 2, b"CD"), 0.0)
    assert [reply.received for reply in work(raft) if isinstance(reply, SnapshotReply)] == [2, 0]


def test_a_snapshot_that_comes_while_entries_are_being_written_supersedes_them():
    raft = make(2, term=5)
    raft.receive(Append(1, 2, 5, 0, 0, (Entry(1, 5, b"x"),), 0), 0.0)
    writing = raft.take()
    raft.receive(chunk(9, 5, b"state"), 0.0)
    assert writing
    raft.done(writing, 0.0)
    ready = raft.take()
    assert ready and ready.snapshot and ready.append == [] and ready.truncate_from is None
    raft.done(ready, 0.0)
    assert (raft.last_index, raft.log.stable, payloads(raft)) == (9, 9, [])


def test_a_node_restarted_from_a_snapshot_applies_only_what_follows_it():
    raft = make(2, term=5, snapshot=Snapshot(7, 4, b"state"), terms=[4, 5])
    raft.receive(Append(1, 2, 5, 9, 5, (), 9), 0.0)
    ready = raft.take()
    assert ready and [entry.index for entry in ready.committed] == [8, 9]


def test_what_is_handed_out_for_applying_is_bounded():
    raft = make(2, term=5, terms=[5] * 50, settings=NOTHING_KEPT)
    raft.receive(Append(1, 2, 5, 50, 5, (), 50), 0.0)
    sizes = []
    while ready := raft.take():
        sizes.append(len(ready.committed))
        raft.done(ready, 0.0)
    assert sum(sizes) == 50 and max(sizes) <= 3
