"""The promises of Raft, checked from outside after every step of a simulated cluster.

The checker sees each node's state machine, what it hands to its disk and what it sends, and raises `Violation` with the facts. It
keeps only what it needs to make each check cost the size of the change, not the size of the history: that two logs which agree at
one place agree before it follows, entry by entry, from every (index, term) having one payload and one predecessor.
"""

from zlib import crc32

from broker_impl.quorum.raft import Entry, Raft, RaftMessage, Ready
from broker_impl.quorum.raft_messages import AppendReply, VoteReply, VoteRequest

ALL = 1 << 60
ROUNDING_S = 1e-6


class Violation(Exception):
    """A promise was broken."""


class Safety:
    def __init__(self) -> None:
        self.committed: list[Entry] = []
        self._states = [0]
        """The applied state after each committed entry, the first for the empty log."""
        self._commit_terms: list[int] = []
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._places: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._seen_commit: dict[int, int] = {}
        self._promised_terms: dict[int, int] = {}
        self._promised_entries: dict[int, tuple[int, int]] = {}
        self._followed: dict[int, float] = {}
        self._quiet_since: dict[int, float] = {}

    @property
    def elections(self) -> int:
        return len(self._leaders)

    def started(self, node: int, raft: Raft) -> None:
        """A node that comes back has everything it promised before."""
        promised_term = self._promised_terms.get(node, 0)
        if raft.term < promised_term:
            raise Violation(f"node {node} came back in term {raft.term} after speaking in term {promised_term}")
        term, index = self._promised_entries.get(node, (0, 0))
        if term == raft.term and raft.last_index < index:
            raise Violation(f"node {node} came back with {raft.last_index} entries after promising {index}")
        self._seen_commit[node] = raft.commit_index

    def stepped(self, node: int, raft: Raft) -> None:
        if raft.role == "leader" and self._leaders.get(raft.term) != node:
            self._elected(node, raft)
        if raft.commit_index != self._seen_commit[node]:
            self._commits(node, raft)

    def followed(self, term: int, at: float) -> None:
        """The leader of this term says that a majority still followed it then, in the world's time."""
        if at > self._followed.get(term, at - 1.0):
            self._followed[term] = at
            self._compare(term, at, min(((since, later) for later, since in self._quiet_since.items() if later > term), default=None))

    def quiet(self, term: int, since: float) -> None:
        """The leader of this term says, when it is elected, that no other was followed since then."""
        self._quiet_since[term] = since
        for earlier, at in self._followed.items():
            if earlier < term:
                self._compare(earlier, at, (since, term))

    def handed_out(self, node: int, raft: Raft, ready: Ready) -> None:
        """Log matching: a place (index, term) has the same payload and the same predecessor in every log."""
        for entry in ready.append:
            if entry.index - 1 < raft.log.base_index:
                continue
            here = (raft.log.term_at(entry.index - 1), entry.payload)
            place = (entry.index, entry.term)
            before = self._places.setdefault(place, here)
            if before != here:
                raise Violation(f"node {node} has {here} at {place}, another node has {before}")

    def sent(self, message: RaftMessage) -> None:
        """One vote a term, and nothing promised that a restart may forget."""
        node = message.sender
        self._promised_terms[node] = max(message.term, self._promised_terms.get(node, 0))
        candidate: int | None = None
        if isinstance(message, VoteRequest) and not message.pre:
            candidate = node
        elif isinstance(message, VoteReply) and message.granted and not message.pre:
            candidate = message.to
        elif isinstance(message, AppendReply) and message.accepted:
            before = self._promised_entries.get(node, (0, 0))
            self._promised_entries[node] = max(before, (message.term, message.index))
        if candidate is not None:
            first = self._votes.setdefault((node, message.term), candidate)
            if first != candidate:
                raise Violation(f"node {node} voted for {first} and for {candidate} in term {message.term}")

    def applied(self, node: int, entry: Entry, state: int) -> int:
        """The state after applying `entry` to `state`; all nodes go through the same states."""
        state = next_state(state, entry)
        self.has_state(node, entry.index, state)
        return state

    def has_state(self, node: int, index: int, state: int) -> None:
        if index >= len(self._states) or self._states[index] != state:
            raise Violation(f"node {node} has another state at {index} than was committed")

    def _compare(self, term: int, at: float, quiet: tuple[float, int] | None) -> None:
        if quiet is not None and at > quiet[0] + ROUNDING_S:
            raise Violation(f"the leader of term {term} was followed at {at:.4f}, that of {quiet[1]} says nobody was since {quiet[0]:.4f}")

    def _elected(self, node: int, raft: Raft) -> None:
        first = self._leaders.setdefault(raft.term, node)
        if first != node:
            raise Violation(f"nodes {first} and {node} both lead term {raft.term}")
        for entry, commit_term in zip(self.committed, self._commit_terms, strict=True):
            concerned = commit_term < raft.term and entry.index >= raft.log.base_index
            if concerned and not raft.log.matches(entry.index, entry.term):
                raise Violation(f"node {node} leads term {raft.term} without entry {entry.index} committed in term {commit_term}")

    def _commits(self, node: int, raft: Raft) -> None:
        seen = self._seen_commit[node]
        if raft.commit_index < seen:
            raise Violation(f"node {node} went back from commit index {seen} to {raft.commit_index}")
        for entry in raft.log.batch(max(seen, raft.log.base_index) + 1, raft.commit_index, ALL):
            if entry.index == len(self.committed) + 1:
                self.committed.append(entry)
                self._commit_terms.append(raft.term)
                self._states.append(next_state(self._states[-1], entry))
            elif entry not in self.committed[entry.index - 1 : entry.index]:
                raise Violation(f"node {node} commits {entry} where {self.committed[entry.index - 1 : entry.index]} was committed")
        self._seen_commit[node] = raft.commit_index


def next_state(state: int, entry: Entry) -> int:
    return crc32(b"%d %d %b" % (entry.index, entry.term, entry.payload), state)
