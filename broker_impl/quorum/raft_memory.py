"""The log of one Raft node as the state machine sees it: a snapshot, the entries behind it, and how much of them is on disk.

The log in memory runs ahead of the disk. `hand_out` names what the disk does not have yet, `settle` is told that it has.
The trap is a conflict that replaces entries while they are being written: what settles then is only the part that is
still the same.

Invariants: entries are consecutive from base_index + 1, terms never fall; stable <= handed <= last_index; entries up to
`stable` are on disk exactly as they are here.
"""

from bisect import bisect_right
from collections.abc import Sequence

from broker_impl.quorum.raft_messages import Entry, Snapshot

ENTRY_OVERHEAD_BYTES = 32


class MemoryLog:
    def __init__(self, snapshot: Snapshot | None, entries: Sequence[Entry]) -> None:
        self.snapshot = snapshot
        self.base_index = snapshot.index if snapshot else 0
        self.base_term = snapshot.term if snapshot else 0
        self._entries = list(entries)
        self._check_chain()
        self.stable = self.last_index
        self._handed = self.last_index
        self._in_flight: int | None = None
        self._truncate_from: int | None = None

    @property
    def last_index(self) -> int:
        return self.base_index + len(self._entries)

    @property
    def last_term(self) -> int:
        return self._entries[-1].term if self._entries else self.base_term

    def term_at(self, index: int) -> int:
        if index == self.base_index:
            return self.base_term
        if not self.base_index < index <= self.last_index:
            raise IndexError(f"entry {index} is not held: the log has {self.base_index + 1} to {self.last_index}")
        return self._entries[index - self.base_index - 1].term

    def matches(self, index: int, term: int) -> bool:
        return self.base_index <= index <= self.last_index and self.term_at(index) == term

    def last_not_above(self, index: int, term: int) -> int:
        """The last place up to `index` whose term is at most `term`; base_index - 1 if all that is held is newer."""
        if term < self.base_term:
            return self.base_index - 1
        held = max(0, min(index, self.last_index) - self.base_index)
        return self.base_index + bisect_right(self._entries, term, 0, held, key=lambda entry: entry.term)

    def batch(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        """Entries from `first` up to `last`, cut when they pass max_bytes, but always at least one if there is one."""
        chosen: list[Entry] = []
        size = 0
        for position in range(first - self.base_index - 1, min(last, self.last_index) - self.base_index):
            entry = self._entries[position]
            size += len(entry.payload) + ENTRY_OVERHEAD_BYTES
            if chosen and size > max_bytes:
                break
            chosen.append(entry)
        return chosen

    def append(self, entry: Entry) -> None:
        assert entry.index == self.last_index + 1 and entry.term >= self.last_term, entry
        self._entries.append(entry)

    def merge(self, entries: Sequence[Entry]) -> None:
        """Take a leader's entries, the first of which follows a place that matches; a conflict drops our own from there on."""
        for position, entry in enumerate(entries):
            if not self.matches(entry.index, entry.term):
                if entry.index <= self.last_index:
                    self._truncate(entry.index)
                for new in entries[position:]:
                    self.append(new)
                return

    def compact(self, snapshot: Snapshot, kept_entries: int) -> None:
        """Let `snapshot` stand for the entries up to its index, holding on to the last few for peers that are slightly behind."""
        assert snapshot.term == self.term_at(snapshot.index) and snapshot.index <= self.stable
        self.snapshot = snapshot
        new_base = snapshot.index - kept_entries
        if new_base > self.base_index:
            self.base_term = self.term_at(new_base)
            del self._entries[: new_base - self.base_index]
            self.base_index = new_base

    def restore(self, snapshot: Snapshot) -> None:
        """Forget everything for a snapshot received; the Ready that carries it replaces the log on disk too."""
        self.snapshot = snapshot
        self.base_index, self.base_term = snapshot.index, snapshot.term
        self._entries = []
        self.stable = self._handed = snapshot.index
        self._in_flight = self._truncate_from = None

    def hand_out(self) -> tuple[int | None, list[Entry]]:
        """What the disk lacks: first cut from this index on, then append these."""
        assert self._in_flight is None
        truncate_from, self._truncate_from = self._truncate_from, None
        fresh = self._entries[self._handed - self.base_index :]
        self._handed = self._in_flight = self.last_index
        return truncate_from, fresh

    def settle(self) -> None:
        """What was handed out is on disk."""
        if self._in_flight is not None:
            self.stable, self._in_flight = self._in_flight, None

    def _truncate(self, index: int) -> None:
        del self._entries[index - self.base_index - 1 :]
        if index <= self._handed:
            self._truncate_from = index if self._truncate_from is None else min(index, self._truncate_from)
            self._handed = index - 1
            self.stable = min(self.stable, index - 1)
            if self._in_flight is not None:
                self._in_flight = min(self._in_flight, index - 1)

    def _check_chain(self) -> None:
        previous_term = self.base_term
        for index, entry in enumerate(self._entries, self.base_index + 1):
            if entry.index != index or entry.term < previous_term:
                raise ValueError(f"entry {entry.index} of term {entry.term} cannot follow {index - 1} of term {previous_term}")
            previous_term = entry.term
