"""The times and bounds of a quorum. All voters should have the same times, or the slowest never gets to lead."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftSettings:
    election_timeout_s: float = 1.0
    """A voter campaigns after hearing no leader for 1 to 1.5 times this; a leader resigns after hearing no majority for it."""
    heartbeat_s: float = 0.1
    max_batch_bytes: int = 1 << 20
    """Entries in one Append, bytes in one snapshot chunk, and entries handed out for applying at once."""
    max_inflight: int = 16
    """Appends with entries that may be unanswered per peer."""
    kept_entries: int = 1024
    """Entries kept in memory behind a snapshot, so that a peer slightly behind needs no snapshot."""

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat_s * 2 < self.election_timeout_s:
            raise ValueError(
                f"a heartbeat of {self.heartbeat_s} s must be less than half the election time-out of {self.election_timeout_s} s"
            )
        if min(self.max_batch_bytes, self.max_inflight) < 1 or self.kept_entries < 0:
            raise ValueError("max_batch_bytes and max_inflight must be at least 1, kept_entries at least 0")
