"""Raft for one node, as a pure state machine: messages, proposals and time go in, `Ready` units of work come out.

The quorum agrees on one leader a term and one log for ever. Elections are preceded by a pre-vote, so that a node that was cut off
does not depose a working leader when it returns; a leader that hears no majority resigns; a new leader opens its term with an empty
entry and serves only when that is committed. Nodes that are not voters are observers: they follow the log and are never counted.

The traps: nothing may leave before it is on disk (see `Ready`), and an entry of an earlier term that lies on a majority is still not
committed: only an entry of the leader's own term commits by counting, and takes the earlier ones along.

Invariants: commit_index never falls and never passes last_index; voted_for changes only with the term or from nobody; what was handed
out as committed is never replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from broker_impl.quorum.raft_memory import MemoryLog
from broker_impl.quorum.raft_messages import (
    Append,
    AppendReply,
    Entry,
    HardState,
    Observe,
    RaftMessage,
    Ready,
    Snapshot,
    SnapshotChunk,
    SnapshotReply,
    TakeOver,
    VoteReply,
    VoteRequest,
)
from broker_impl.quorum.raft_replication import Leadership, Progress
from broker_impl.quorum.raft_settings import RaftSettings

__all__ = ["Entry", "HardState", "Progress", "Raft", "RaftMessage", "RaftSettings", "Ready", "Role", "Snapshot"]

Role = Literal["follower", "candidate", "leader", "observer"]


class Raft:
    def __init__(
        self,
        node_id: int,
        voters: Sequence[int],
        hard_state: HardState,
        snapshot: Snapshot | None,
        entries: Sequence[Entry],
        settings: RaftSettings,
        random: Random,
        now: float,
    ) -> None:
        self.node_id = node_id
        self.voters = tuple(sorted(set(voters)))
        self.settings = settings
        self.term = hard_state.term
        self.voted_for = hard_state.voted_for
        self.leader_id: int | None = None
        self.role: Role = "follower" if node_id in self.voters else "observer"
        self.log = MemoryLog(snapshot, entries)
        assert self.log.last_term <= self.term
        self.commit_index = self._handed_commit = self._applied = self.log.base_index
        self._random = random
        self._now = now
        self._heard_leader_at = now
        """At the latest: of what it heard before its start it knows nothing. A leader hears itself."""
        self.silence_s = 0.0
        """Of a leader: when it was elected, none of those who elected it had heard a leader for so long."""
        self._fresh = True
        """Since its start it has heard no leader, given no vote and asked for none."""
        self._saved_hard_state = hard_state
        self._leadership: Leadership | None = None
        self._ballot: _Ballot | None = None
        self._incoming: _IncomingSnapshot | None = None
        self._to_install: Snapshot | None = None
        self._compacted: Snapshot | None = None
        self._outbox: list[RaftMessage] = []
        self._outstanding: Ready | None = None
        self._next_voter = 0
        self._was_stalled = False
        self._deadline = now
        if self.voters == (node_id,):
            self._campaign(pre=False, now=now)
        elif self.role == "follower":
            self._deadline = self._first_deadline(now)

    @property
    def last_index(self) -> int:
        return self.log.last_index

    @property
    def snapshot(self) -> Snapshot | None:
        return self.log.snapshot

    @property
    def serving(self) -> bool:
        """Leads, and has applied an entry of its own term: so all that earlier terms committed is in the applied state."""
        return self._leadership is not None and self._applied >= self._leadership.first_index

    @property
    def followed_at(self) -> float:
        """Until then at least nobody else was elected: a majority has since answered this leader. Long ago, where it is none."""
        return self._leadership.followed_at() if self._leadership else float("-inf")

    def next_deadline(self) -> float:
        """When `tick` has something to do, unless a call before then changes it."""
        return self._leadership.next_deadline() if self._leadership else self._deadline

    def progress(self) -> dict[int, Progress]:
        """What each voter and observer has, as far as a leader knows; empty elsewhere."""
        return self._leadership.progress() if self._leadership else {}

    def propose(self, payload: bytes, now: float) -> int | None:
        """The index the payload will have if this leader lives to commit it in this term; None if this is not the leader."""
        self._now = now
        if self._leadership is None:
            return None
        self.log.append(Entry(self.log.last_index + 1, self.term, payload))
        return self.log.last_index

    def hand_over(self) -> int | None:
        """Asks the voter with the longest log to take over, and says which. This node leads on until it hears of a higher term; it is
        only a hint, as safe as a time-out that came early."""
        if self._leadership is None:
            return None
        voters = {node: peer for node, peer in self._leadership.progress().items() if node in self.voters and node != self.node_id}
        if not voters:
            return None
        heir = max(voters, key=lambda node: (voters[node].match_index, voters[node].last_contact))
        self._outbox.append(TakeOver(self.node_id, heir, self.term))
        return heir

    def tick(self, now: float) -> None:
        """Judges silence and sends heartbeats. A tick that comes much too late means that this process was itself stalled, and that
        what others sent meanwhile may be unread: then it judges a little later, but not twice in a row."""
        self._now = now
        was_stalled = now - self.next_deadline() > self.settings.heartbeat_s and not self._was_stalled
        self._was_stalled = was_stalled
        if self._leadership:
            if was_stalled:
                self._leadership.give_grace(now)
            if now >= self._leadership.quorum_ends():
                self._follow(self.term, now)
            else:
                self._leadership.tick(now)
        elif now >= self._deadline:
            if was_stalled:
                self._deadline = now + self.settings.heartbeat_s
            elif self.role == "observer":
                self._ask_for_log(now)
            else:
                self._campaign(pre=True, now=now)

    def receive(self, message: RaftMessage, now: float) -> None:
        self._now = now
        if message.to != self.node_id or message.sender == self.node_id:
            return
        if message.term > self.term:
            self._follow(message.term, now)
        if self._leadership and message.term == self.term:
            self._leadership.contacted(message.sender, now)
        match message:
            case TakeOver():
                if self.role == "follower" and message.term == self.term and message.sender == self.leader_id:
                    self._campaign(pre=False, now=now)
            case VoteRequest():
                self._vote_requested(message, now)
            case VoteReply():
                self._vote_replied(message, now)
            case Append():
                self._append_received(message, now)
            case SnapshotChunk():
                self._chunk_received(message, now)
            case AppendReply():
                if self._leadership and message.term == self.term:
                    self._leadership.echoed(message.sender, message.sent)
                    self._leadership.append_replied(message)
                    self._advance_commit()
            case SnapshotReply():
                if self._leadership and message.term == self.term:
                    self._leadership.echoed(message.sender, message.sent)
                    self._leadership.snapshot_replied(message)
            case Observe():
                if self._leadership:
                    self._leadership.observe(message.sender, message.last_index, now)

    def take(self) -> Ready | None:
        """The next unit of work, or None if there is none or the last one is not done."""
        if self._outstanding:
            return None
        if self._leadership:
            self._outbox += self._leadership.outgoing(self.commit_index, self._now)
        hard_state = self._durable_state()
        truncate_from, append = self.log.hand_out()
        ready = Ready(
            hard_state=hard_state if hard_state != self._saved_hard_state else None,
            truncate_from=truncate_from,
            append=append,
            snapshot=self._to_install,
            compacted=self._compacted,
            messages=self._outbox,
            committed=self._hand_out_committed(),
        )
        if not (ready.must_sync or ready.messages or ready.committed):
            self.log.settle()
            return None
        self._saved_hard_state = hard_state
        self._outbox, self._to_install, self._compacted = [], None, None
        self._outstanding = ready
        return ready

    def done(self, ready: Ready, now: float) -> None:
        """The shell has persisted, sent and applied what `ready` says."""
        assert ready is self._outstanding
        self._now = now
        self._outstanding = None
        self.log.settle()
        if ready.snapshot:
            self._applied = ready.snapshot.index
        if ready.committed:
            self._applied = ready.committed[-1].index
        if self._leadership:
            self._advance_commit()

    def compact(self, index: int, data: bytes) -> None:
        """`data` is the applied state after entry `index`: entries up to it need not be kept."""
        assert index <= self._applied
        if index > (self.log.snapshot.index if self.log.snapshot else 0):
            self._compacted = Snapshot(index, self.log.term_at(index), data)
            self.log.compact(self._compacted, self.settings.kept_entries)

    def _campaign(self, *, pre: bool, now: float) -> None:
        if not pre:
            self.term += 1
            self.voted_for = self.node_id
        self.role, self.leader_id = "candidate", None
        self._ballot = _Ballot(pre, {self.node_id: now - self._heard_leader_at})
        self._fresh = self._fresh and pre
        self._deadline = self._first_deadline(now) if self._fresh else self._election_deadline(now)
        for voter in self.voters:
            if voter != self.node_id:
                self._outbox.append(VoteRequest(self.node_id, voter, self.term, self.log.last_index, self.log.last_term, pre))
        self._count_votes(now)

    def _count_votes(self, now: float) -> None:
        assert self._ballot
        if len(self._ballot.granted) > len(self.voters) // 2:
            if self._ballot.pre:
                self._campaign(pre=False, now=now)
            else:
                self._lead(now)

    def _lead(self, now: float) -> None:
        assert self._ballot
        self.silence_s = max(0.0, min(self._ballot.granted.values()))
        self.role, self.leader_id, self._ballot = "leader", self.node_id, None
        self._leadership = Leadership(self.node_id, self.term, self.voters, self.log, self.settings, now)
        self.propose(b"", now)

    def _follow(self, term: int, now: float) -> None:
        """Give up whatever this node was, in `term`. A plain follower that only learns of a term keeps its deadline."""
        if term > self.term:
            self.term, self.voted_for = term, None
        self.leader_id = None
        if self._leadership:
            self._heard_leader_at = now
        if self.role in ("candidate", "leader"):
            self.role, self._leadership, self._ballot = "follower", None, None
            self._deadline = self._election_deadline(now)

    def _vote_requested(self, request: VoteRequest, now: float) -> None:
        if request.sender not in self.voters or self.node_id not in self.voters:
            return
        granted = request.term == self.term and self._would_vote(request, now)
        silence_s = now - self._heard_leader_at
        if granted and request.pre and self._fresh:
            self._deadline = self._first_deadline(now)  # it lets the other go first: two who campaign at once both lose
        if granted and not request.pre:
            self.voted_for = request.sender
            self._follow(self.term, now)
            self._fresh = False
            self._deadline = self._election_deadline(now)
        self._outbox.append(VoteReply(self.node_id, request.sender, self.term, granted, request.pre, silence_s))

    def _would_vote(self, request: VoteRequest, now: float) -> bool:
        up_to_date = (request.last_term, request.last_index) >= (self.log.last_term, self.log.last_index)
        if request.pre:
            return up_to_date and not self._hears_leader(now)
        return up_to_date and self.voted_for in (None, request.sender)

    def _hears_leader(self, now: float) -> bool:
        return self._leadership is not None or (
            self.leader_id is not None and now - self._heard_leader_at < self.settings.election_timeout_s
        )

    def _vote_replied(self, reply: VoteReply, now: float) -> None:
        ballot = self._ballot
        if ballot and reply.term == self.term and reply.pre == ballot.pre and reply.granted and reply.sender in self.voters:
            ballot.granted[reply.sender] = reply.silence_s
            self._count_votes(now)

    def _election_deadline(self, now: float) -> float:
        return now + self.settings.election_timeout_s * self._random.uniform(1.0, 1.5)

    def _first_deadline(self, now: float) -> float:
        """Of a node that has just started, again and again until something is heard: a pre-vote disturbs nobody, and the first ones
        get lost while the others are still starting."""
        return now + self.settings.election_timeout_s * self._random.uniform(0.02, 0.25)

    def _ask_for_log(self, now: float) -> None:
        """An observer that hears no leader asks one voter after the other."""
        self.leader_id = None
        voter = self.voters[self._next_voter % len(self.voters)]
        self._next_voter += 1
        self._outbox.append(Observe(self.node_id, voter, self.term, self.log.last_index))
        self._deadline = now + self.settings.heartbeat_s

    def _heard(self, message: Append | SnapshotChunk, now: float) -> bool:
        """Whether the sender leads the term this node is in; a leader of an old term is told so."""
        if message.term < self.term:
            self._outbox.append(AppendReply(self.node_id, message.sender, self.term, False, 0))
            return False
        if self.role == "leader" or message.sender not in self.voters:
            return False
        self._follow(self.term, now)
        self._fresh = False
        self.leader_id, self._heard_leader_at = message.sender, now
        self._deadline = self._election_deadline(now)
        return True

    def _append_received(self, message: Append, now: float) -> None:
        if not self._heard(message, now):
            return
        prev, prev_term, entries = message.prev_index, message.prev_term, message.entries
        if prev < self.commit_index:
            entries = entries[self.commit_index - prev :]
            prev, prev_term = self.commit_index, self.log.term_at(self.commit_index)
        if self.log.matches(prev, prev_term):
            self.log.merge(entries)
            match_index = prev + len(entries)
            self._commit_to(min(message.commit, match_index))
            self._outbox.append(
                AppendReply(self.node_id, message.sender, self.term, True, match_index, round=message.round, sent=message.sent)
            )
        else:
            hint = max(self.commit_index, self.log.last_not_above(prev, prev_term))
            hint_term = self.log.term_at(hint)
            self._outbox.append(
                AppendReply(self.node_id, message.sender, self.term, False, prev, hint, hint_term, message.round, message.sent)
            )

    def _chunk_received(self, chunk: SnapshotChunk, now: float) -> None:
        if not self._heard(chunk, now):
            return
        if chunk.index <= self.commit_index:
            self._outbox.append(
                AppendReply(self.node_id, chunk.sender, self.term, True, self.commit_index, round=chunk.round, sent=chunk.sent)
            )
            return
        key = (chunk.sender, chunk.term, chunk.index)
        if self._incoming is None or self._incoming.key != key:
            self._incoming = _IncomingSnapshot(key)
        data = self._incoming.data
        if chunk.offset == len(data):
            data += chunk.data
        if len(data) < chunk.total:
            self._outbox.append(SnapshotReply(self.node_id, chunk.sender, self.term, chunk.index, len(data), chunk.round, chunk.sent))
            return
        self._incoming = None
        self._install(Snapshot(chunk.index, chunk.index_term, bytes(data)))
        self._outbox.append(AppendReply(self.node_id, chunk.sender, self.term, True, chunk.index, round=chunk.round, sent=chunk.sent))

    def _install(self, snapshot: Snapshot) -> None:
        if not self.log.matches(snapshot.index, snapshot.term):
            self.log.restore(snapshot)
            self._to_install, self._compacted = snapshot, None
            self._handed_commit = snapshot.index
        self._commit_to(snapshot.index)

    def _advance_commit(self) -> None:
        assert self._leadership
        index = self._leadership.majority_match()
        if index > self.commit_index and self._counts(index):
            self._commit_to(index)

    def _counts(self, index: int) -> bool:
        """Only an entry of the own term commits because a majority has it."""
        return self.log.term_at(index) == self.term

    def _commit_to(self, index: int) -> None:
        assert index <= self.log.last_index
        self.commit_index = max(self.commit_index, index)

    def _hand_out_committed(self) -> list[Entry]:
        committed = self.log.batch(self._handed_commit + 1, self.commit_index, self.settings.max_batch_bytes)
        if committed:
            self._handed_commit = committed[-1].index
        return committed

    def _durable_state(self) -> HardState:
        return HardState(self.term, self.voted_for)


@dataclass(slots=True)
class _Ballot:
    """`granted`: who votes for us, and how long each had heard no leader by then."""

    pre: bool
    granted: dict[int, float]


@dataclass(slots=True)
class _IncomingSnapshot:
    """A snapshot of one leader as it arrives; the key names leader, its term, and the snapshot's index."""

    key: tuple[int, int, int]
    data: bytearray = field(default_factory=bytearray)
