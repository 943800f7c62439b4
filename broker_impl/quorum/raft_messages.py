"""What crosses the border of the Raft state machine: entries, messages, and the work it asks its shell to do.

Messages travel between nodes as msgpack. A `Ready` is one unit of work for the shell: persist, then send, then apply.
The trap is the order: a message of a Ready may only leave after everything in that Ready is on disk, because the message
may promise it.
"""

from dataclasses import dataclass

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Entry:
    """One place in the replicated log. An empty payload means nothing to apply: it only opens a leader's term."""

    index: int
    term: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class HardState:
    """What a node must never forget: the newest term it saw and whom it voted for in it."""

    term: int
    voted_for: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The applied state after the entry (index, term); it stands for that entry and all before it."""

    index: int
    term: int
    data: bytes


class VoteRequest(Struct, frozen=True, tag=True):
    """With `pre` it only asks whether the vote would be given in term + 1, and changes nothing at the receiver."""

    sender: int
    to: int
    term: int
    last_index: int
    last_term: int
    pre: bool


class VoteReply(Struct, frozen=True, tag=True):
    """`silence_s`: how long the voter has surely heard no leader."""

    sender: int
    to: int
    term: int
    granted: bool
    pre: bool
    silence_s: float = 0.0


class Append(Struct, frozen=True, tag=True):
    """Entries that follow (prev_index, prev_term); without entries it is a heartbeat and a probe of that place.

    The answer repeats `round`, here and in chunks: by that the leader knows answers that were overtaken by its own change of mind. It
    also repeats `sent`, the leader's own time: by that the leader knows since when it is still followed.
    """

    sender: int
    to: int
    term: int
    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit: int
    round: int = 0
    sent: float = 0.0


class AppendReply(Struct, frozen=True, tag=True):
    """Accepted: the log equals the leader's up to `index`. Refused: (index = prev_index) does not match, the hint might."""

    sender: int
    to: int
    term: int
    accepted: bool
    index: int
    hint_index: int = 0
    hint_term: int = 0
    round: int = 0
    sent: float = 0.0


class SnapshotChunk(Struct, frozen=True, tag=True):
    """A part of the leader's snapshot at (index, index_term); an empty part asks how much has arrived."""

    sender: int
    to: int
    term: int
    index: int
    index_term: int
    total: int
    offset: int
    data: bytes
    round: int = 0
    sent: float = 0.0


class SnapshotReply(Struct, frozen=True, tag=True):
    sender: int
    to: int
    term: int
    index: int
    received: int
    round: int = 0
    sent: float = 0.0


class Observe(Struct, frozen=True, tag=True):
    """An observer asks whoever leads to be sent the log from about last_index on."""

    sender: int
    to: int
    term: int
    last_index: int


class TakeOver(Struct, frozen=True, tag=True):
    """A leader that is about to stop asks this voter to stand for election at once, instead of waiting for its silence."""

    sender: int
    to: int
    term: int


RaftMessage = TakeOver | VoteRequest | VoteReply | Append | AppendReply | SnapshotChunk | SnapshotReply | Observe


@dataclass(frozen=True, slots=True)
class Ready:
    """Persist hard_state, snapshot, truncation, append and compacted; then send; then install and apply; then `done`."""

    hard_state: HardState | None
    truncate_from: int | None
    append: list[Entry]
    snapshot: Snapshot | None
    """Received from the leader: replaces the log on disk, and the applied state."""
    compacted: Snapshot | None
    """Made here by `compact`: only the disk needs it, the applied state has it."""
    messages: list[RaftMessage]
    committed: list[Entry]

    @property
    def must_sync(self) -> bool:
        changes_log = self.truncate_from is not None or bool(self.append)
        return self.hard_state is not None or changes_log or self.snapshot is not None or self.compacted is not None
