"""The leader's side of replication: what each peer has, what to send it next, and what a majority has.

A peer is first *probed*: one Append at a time, until a place is found where the logs agree. Then entries *stream* to it, several
Appends in flight, each assumed to arrive. A peer that is behind everything held here gets the *snapshot* in chunks. A heartbeat is
an Append without entries after the last one assumed to have arrived: lost Appends show in its refusal, so that nothing needs a
timer of its own. Nothing here is safety: a wrong guess costs a round trip, and `match` only moves by what a peer confirmed.

The trap is answers that come late and in another order: if each could restart the stream, and each restart called for more answers,
traffic would feed on itself. So every change of mind begins a new *round*; answers of an earlier one still confirm, but move nothing.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from broker_impl.quorum.raft_memory import MemoryLog
from broker_impl.quorum.raft_messages import Append, AppendReply, RaftMessage, Snapshot, SnapshotChunk, SnapshotReply
from broker_impl.quorum.raft_settings import RaftSettings

OBSERVER_EXPIRY = 5
"""An observer not heard of for this many election time-outs is forgotten; it asks again when it returns."""


@dataclass(frozen=True, slots=True)
class Progress:
    match_index: int
    last_contact: float


class Leadership:
    """The peers of one leader in one term. Made when it is elected, dropped when it resigns."""

    def __init__(self, node_id: int, term: int, voters: Sequence[int], log: MemoryLog, settings: RaftSettings, now: float) -> None:
        self._node_id = node_id
        self._term = term
        self._voters = frozenset(voters)
        self._log = log
        self._settings = settings
        self._peers = {voter: _Peer(next_index=log.last_index + 1, contact=now) for voter in voters if voter != node_id}
        self._ticked_at = self._grace_ends = now
        self._heartbeat_at = now + settings.heartbeat_s
        self.first_index = log.last_index + 1
        """Where this leader's first entry goes; once that is committed, all before it is known to be."""

    def next_deadline(self) -> float:
        return min(self._heartbeat_at, self.quorum_ends())

    def quorum_ends(self) -> float:
        """When the newest contact with a majority is an election time-out old. Never, for a voter that is alone."""
        contacts = sorted((peer.contact for node, peer in self._peers.items() if node in self._voters), reverse=True)
        others_needed = len(self._voters) // 2
        if not others_needed:
            return float("inf")
        return max(contacts[others_needed - 1] + self._settings.election_timeout_s, self._grace_ends)

    def followed_at(self) -> float:
        """The newest time at which a majority still followed: each of them has answered something sent then or later. A voter that
        is alone follows itself at any time."""
        echoes = sorted((peer.echo for node, peer in self._peers.items() if node in self._voters), reverse=True)
        others_needed = len(self._voters) // 2
        return echoes[others_needed - 1] if others_needed else float("inf")

    def give_grace(self, now: float) -> None:
        """Let two heartbeats pass before silence is judged."""
        self._grace_ends = now + 2 * self._settings.heartbeat_s

    def majority_match(self) -> int:
        """The highest index that a majority of the voters has on disk; observers are never counted."""
        matches = [peer.match for node, peer in self._peers.items() if node in self._voters]
        return sorted([*matches, self._log.stable], reverse=True)[len(self._voters) // 2]

    def progress(self) -> dict[int, Progress]:
        known = {node: Progress(peer.match, peer.contact) for node, peer in self._peers.items()}
        return known | {self._node_id: Progress(self._log.stable, self._ticked_at)}

    def tick(self, now: float) -> None:
        self._ticked_at = now
        if now < self._heartbeat_at:
            return
        self._heartbeat_at = now + self._settings.heartbeat_s
        expired = now - OBSERVER_EXPIRY * self._settings.election_timeout_s
        self._peers = {node: peer for node, peer in self._peers.items() if node in self._voters or peer.contact > expired}
        for peer in self._peers.values():
            peer.heartbeat_due = True

    def observe(self, node: int, last_index: int, now: float) -> None:
        """Start over with an observer from what it says it has: it asks only when it hears nothing from here."""
        if node not in self._voters:
            known = self._peers.get(node)
            new_round = known.round + 1 if known else 0
            self._peers[node] = _Peer(next_index=min(last_index, self._log.last_index) + 1, contact=now, new_round=new_round)

    def contacted(self, node: int, now: float) -> None:
        if peer := self._peers.get(node):
            peer.contact = max(peer.contact, now)

    def echoed(self, node: int, sent: float) -> None:
        if peer := self._peers.get(node):
            peer.echo = max(peer.echo, sent)

    def append_replied(self, reply: AppendReply) -> None:
        peer = self._peers.get(reply.sender)
        if peer is None:
            return
        if reply.accepted:
            if reply.index <= self._log.last_index:
                peer.confirmed(reply.index, reply.round)
        elif reply.round == peer.round and peer.state != "snapshot" and reply.index > peer.match:
            peer.probe(self._log.last_not_above(reply.hint_index, reply.hint_term) + 1, before=reply.index)

    def snapshot_replied(self, reply: SnapshotReply) -> None:
        peer = self._peers.get(reply.sender)
        if peer and peer.snapshot and peer.snapshot.index == reply.index and peer.round == reply.round:
            peer.offset = min(reply.received, len(peer.snapshot.data))
            peer.begin_round()

    def outgoing(self, commit: int, now: float) -> list[RaftMessage]:
        """All that may be sent now: entries within the window, chunks, heartbeats that are due, and news of the commit index."""
        messages: list[RaftMessage] = []
        for node, peer in self._peers.items():
            if peer.next_index <= self._log.base_index and peer.state != "snapshot":
                assert self._log.snapshot is not None
                peer.start_snapshot(self._log.snapshot)
            if peer.snapshot:
                messages += self._chunks(node, peer, peer.snapshot, now)
            else:
                messages += self._appends(node, peer, commit, now)
            peer.heartbeat_due = False
        return messages

    def _appends(self, node: int, peer: "_Peer", commit: int, now: float) -> list[RaftMessage]:
        messages: list[RaftMessage] = []
        last = self._log.last_index
        while peer.next_index <= last and not peer.waiting and len(peer.in_flight) < self._settings.max_inflight:
            messages.append(self._append(node, peer, commit, now, with_entries=True))
        if not messages and (peer.heartbeat_due or (peer.state == "stream" and peer.told_commit < commit)):
            messages.append(self._append(node, peer, commit, now, with_entries=False))
        return messages

    def _append(self, node: int, peer: "_Peer", commit: int, now: float, *, with_entries: bool) -> Append:
        prev = peer.next_index - 1
        entries = self._log.batch(prev + 1, self._log.last_index, self._settings.max_batch_bytes) if with_entries else []
        message = Append(self._node_id, node, self._term, prev, self._log.term_at(prev), tuple(entries), commit, peer.round, now)
        peer.told_commit = commit
        if entries:
            peer.sent(entries[-1].index)
        return message

    def _chunks(self, node: int, peer: "_Peer", snapshot: Snapshot, now: float) -> list[RaftMessage]:
        if peer.waiting and not peer.heartbeat_due:
            return []
        size = 0 if peer.waiting else self._settings.max_batch_bytes
        data = snapshot.data[peer.offset : peer.offset + size]
        peer.waiting = True
        place = (snapshot.index, snapshot.term, len(snapshot.data), peer.offset)
        return [SnapshotChunk(self._node_id, node, self._term, *place, data, peer.round, now)]


class _Peer:
    """Invariant: match < next_index; entries up to `match` are on the peer's disk, those up to next_index - 1 are assumed sent."""

    def __init__(self, next_index: int, contact: float, new_round: int = 0) -> None:
        self.state: Literal["probe", "stream", "snapshot"] = "probe"
        self.match = 0
        self.next_index = next_index
        self.contact = contact
        self.echo = float("-inf")
        """When the newest message that it answered was sent."""
        self.in_flight: deque[int] = deque()
        self.round = new_round
        self.waiting = False
        """The probe or the chunk of this round is unanswered."""
        self.heartbeat_due = True
        self.told_commit = 0
        self.snapshot: Snapshot | None = None
        self.offset = 0

    def sent(self, last: int) -> None:
        if self.state == "stream":
            self.next_index = last + 1
            self.in_flight.append(last)
        else:
            self.waiting = True

    def confirmed(self, index: int, answered_round: int) -> None:
        self.match = max(self.match, index)
        while self.in_flight and self.in_flight[0] <= self.match:
            self.in_flight.popleft()
        found = self.match >= self.snapshot.index if self.snapshot else answered_round == self.round
        if self.state != "stream" and found:
            self.state, self.snapshot, self.waiting = "stream", None, False
            self.next_index, self.told_commit = self.match + 1, 0
        self.next_index = max(self.next_index, self.match + 1)

    def probe(self, index: int, *, before: int) -> None:
        self.begin_round()
        self.state = "probe"
        self.next_index = max(self.match + 1, min(index, before))
        self.heartbeat_due = True

    def start_snapshot(self, snapshot: Snapshot) -> None:
        self.begin_round()
        self.state, self.snapshot, self.offset = "snapshot", snapshot, 0

    def begin_round(self) -> None:
        self.round += 1
        self.waiting = False
        self.in_flight.clear()
