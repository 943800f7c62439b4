"""The in-sync set as its leader sees it: what is committed, and what the controller may have committed without our knowing.

The leader proposes a new set, the controller accepts it by compare-and-set on the partition epoch, and the next leader is
chosen from what the controller has. So the high watermark must wait for every replica the controller *may* count: the
committed set and all that was proposed on top of it (the maximal set).

The trap is a proposal that was not accepted: without an answer it may be accepted later, and even after a refusal another
copy of it may be under way. Taking it back would let a member slip in that nobody waited for. So it stays in the maximal set until
the partition epoch has moved, for then nothing proposed at the old one can be accepted any more; the leader moves it by
proposing again, be it the set it has. The controller must raise the partition epoch for that proposal too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from broker_impl.replication.follower_progress import NEVER

RETRY_PAUSE_S = 0.5
"""After a refusal or a lost answer: the leader's metadata is behind or the controller is away, asking at once does not help."""


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A proposal to the controller. `new_isr` holds (broker, broker epoch)."""

    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[tuple[int, int], ...]


class InSyncReplicas:
    """Invariant: the set the controller has for this leader epoch is a subset of `maximal`; at most one change is in flight."""

    def __init__(self) -> None:
        self.committed: tuple[int, ...] = ()
        self.maximal: frozenset[int] = frozenset()
        self.partition_epoch = -1
        self.in_flight: IsrChange | None = None
        self._retry_at = NEVER

    def settle(self, isr: Sequence[int], partition_epoch: int) -> None:
        """The controller's word, from the metadata log or as its answer: every proposal at an older partition epoch is void."""
        assert partition_epoch > self.partition_epoch
        self.committed = tuple(isr)
        self.maximal = frozenset(isr)
        self.partition_epoch = partition_epoch
        self.in_flight = None
        self._retry_at = NEVER

    def may_propose(self, now: float) -> bool:
        return self.in_flight is None and now >= self._retry_at

    @property
    def unsettled(self) -> bool:
        """Members are waited for that are not committed, and nothing is under way that would settle it."""
        return self.in_flight is None and len(self.maximal) > len(self.committed)

    def propose(self, leader_epoch: int, new_isr: Sequence[tuple[int, int]]) -> IsrChange:
        assert self.in_flight is None
        self.in_flight = IsrChange(leader_epoch, self.partition_epoch, tuple(new_isr))
        self.maximal |= {broker for broker, _ in new_isr}
        return self.in_flight

    def not_accepted(self, change: IsrChange, now: float) -> None:
        """Refused, or nobody knows: the members it would have added are waited for until the partition epoch moves."""
        if change is self.in_flight:
            self.in_flight = None
            self._retry_at = now + RETRY_PAUSE_S
