"""A few Raft nodes joined by hand, without chance or delay, for tests of single rules."""

from collections.abc import Iterable, Sequence
from random import Random

from broker_impl.quorum.raft import Entry, HardState, Raft, RaftMessage, RaftSettings, Snapshot

SETTINGS = RaftSettings()
LONG = 10.0
"""Longer than any time-out."""


def make(
    node: int,
    voters: Sequence[int] = (1, 2, 3),
    *,
    term: int = 0,
    voted_for: int | None = None,
    terms: Iterable[int] = (),
    snapshot: Snapshot | None = None,
    settings: RaftSettings = SETTINGS,
) -> Raft:
    """A node with entries of these terms behind its snapshot, and with its random time-outs drawn from its own number."""
    base = snapshot.index if snapshot else 0
    entries = [Entry(index, entry_term, b"%d/%d" % (index, entry_term)) for index, entry_term in enumerate(terms, base + 1)]
    return Raft(node, voters, HardState(term, voted_for), snapshot, entries, settings, Random(node), 0.0)


def work(raft: Raft, now: float = 0.0) -> list[RaftMessage]:
    """Do all the node asks for; what it sends."""
    messages: list[RaftMessage] = []
    while ready := raft.take():
        messages += ready.messages
        raft.done(ready, now)
    return messages


class Group:
    """Nodes whose messages arrive at once and in order, but for nodes in `away`."""

    def __init__(self, *rafts: Raft) -> None:
        self.nodes = {raft.node_id: raft for raft in rafts}
        self.away: set[int] = set()
        self.now = 0.0
        self.applied: dict[int, list[bytes]] = {raft.node_id: [] for raft in rafts}
        self.sent: list[RaftMessage] = []

    def settle(self) -> None:
        """Until nobody has anything more to do or to say."""
        while messages := [message for raft in self.nodes.values() for message in self._work(raft)]:
            for message in messages:
                if message.to in self.nodes and not {message.sender, message.to} & self.away:
                    self.nodes[message.to].receive(message, self.now)

    def elect(self, node: int) -> Raft:
        """Let time pass until the others have forgotten their leader, then let this node campaign."""
        self.now += LONG
        raft = self.nodes[node]
        self.tick(node)
        self.settle()
        assert raft.role == "leader", raft.role
        return raft

    def tick(self, node: int) -> None:
        """At the moment the node asks for, as a process that is not stalled does."""
        raft = self.nodes[node]
        self.now = max(self.now, raft.next_deadline())
        raft.tick(raft.next_deadline())

    def pass_time(self, seconds: float) -> None:
        """Every node ticks when it asks for it."""
        end = self.now + seconds
        while (raft := min(self.nodes.values(), key=lambda raft: raft.next_deadline())).next_deadline() <= end:
            self.tick(raft.node_id)
            self.settle()
        self.now = end

    def _work(self, raft: Raft) -> list[RaftMessage]:
        sent: list[RaftMessage] = []
        while ready := raft.take():
            sent += ready.messages
            if ready.snapshot:
                self.applied[raft.node_id] = [ready.snapshot.data]
            self.applied[raft.node_id] += [entry.payload for entry in ready.committed if entry.payload]
            raft.done(ready, self.now)
        self.sent += sent
        return sent


def payloads(raft: Raft) -> list[bytes]:
    return [entry.payload for entry in raft.log.batch(raft.log.base_index + 1, raft.last_index, 1 << 30)]
