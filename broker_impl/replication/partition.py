"""One partition on one broker: who leads it, who is in sync, and how far it is committed. Pure: no log, no socket, no clock.

The leader's high watermark is the smallest log end among all replicas the controller may count as in sync, so whatever
lies below it survives any leader chosen from that set. It stands still while the in-sync set is smaller than
min.insync.replicas, and it never goes back.

The traps: a new leader does not know how far it is committed, only that everything committed is in its log, so a follower may
join only when it has all the leader had when its epoch began. A fetch counts only from the present incarnation of a replica, at
the present leader epoch, at an offset where its log does not diverge. And a high watermark is no place to truncate to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.replication.follower_progress import FollowerProgress
from broker_impl.replication.isr import InSyncReplicas, IsrChange

NO_LEADER = -1
ACKS_ALL = -1


class Role(Enum):
    LEADER = "leader"
    FOLLOWER = "follower"
    NONE = "none"


class PartitionState(Protocol):
    """What the metadata says of a partition."""

    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...
    @property
    def replicas(self) -> Sequence[int]: ...
    @property
    def isr(self) -> Sequence[int]: ...


class IsrAnswer(Protocol):
    """The controller's answer to an IsrChange; with an error nothing but the error counts."""

    @property
    def error(self) -> int: ...
    @property
    def isr(self) -> Sequence[int]: ...
    @property
    def partition_epoch(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """`flush_counts`: an offset counts when it is on the disk (flush.messages=1), not when it is in the log."""

    min_insync: int = 1
    lag_s: float = 30.0
    flush_counts: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """What new metadata did. With `new_epoch` a leader assigns its epoch in the log, a follower starts to fetch anew, and
    requests parked under the old epoch are tried again."""

    role: Role
    previous_role: Role
    new_epoch: bool
    hw_moved: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """What the shell has to do: wake those who wait for the high watermark, send the change to the controller."""

    hw_moved: bool
    isr_change: IsrChange | None


NOTHING = Effect(False, None)
_HW_MOVED = Effect(True, None)


class Partition:
    """Invariants: high_watermark <= log_end; on a leader it never decreases and never passes the log end of a member of the maximal ISR.

    Hot path: `appended`, `follower_fetched`, `may_append`, `ack_state`, `check_epoch` take about a microsecond each.
    """

    def __init__(
        self, topic: str, index: int, broker_id: int, settings: PartitionSettings, *, log_end: int, flushed_end: int, high_watermark: int
    ) -> None:
        self.topic = topic
        self.index = index
        self.broker_id = broker_id
        self.settings = settings
        self.role = Role.NONE
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.log_end = log_end
        self.flushed_end = min(flushed_end, log_end)
        self.high_watermark = min(high_watermark, log_end)
        self.epoch_start = log_end
        self._isr = InSyncReplicas()
        self._followers: dict[int, FollowerProgress] = {}
        self._frozen = True

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed set, as far as this broker knows."""
        return self._isr.committed

    @property
    def maximal_isr(self) -> frozenset[int]:
        return self._isr.maximal

    @property
    def partition_epoch(self) -> int:
        return self._isr.partition_epoch

    @property
    def change_in_flight(self) -> IsrChange | None:
        return self._isr.in_flight

    @property
    def below_min_isr(self) -> bool:
        return self._frozen

    @property
    def followers(self) -> Mapping[int, FollowerProgress]:
        """Of a leader; empty elsewhere."""
        return self._followers

    def become(self, state: PartitionState, log_end: int, now: float) -> Transition:
        """Follow the metadata log. Older or known states change nothing; a newer one settles whatever was proposed to the controller."""
        previous = self.role
        if state.partition_epoch <= self._isr.partition_epoch:
            return Transition(previous, previous, new_epoch=False, hw_moved=False)
        assert state.leader_epoch >= self.leader_epoch, "leader epochs rise with partition epochs"
        new_epoch = state.leader_epoch > self.leader_epoch
        self.leader, self.leader_epoch, self.replicas = state.leader, state.leader_epoch, tuple(state.replicas)
        self.role = self._role()
        self._set_log_end(log_end)
        if new_epoch:
            self.epoch_start = log_end
            self._followers = {}
        self._isr.settle(state.isr, state.partition_epoch)
        hw_moved = self._membership_changed(now)
        return Transition(self.role, previous, new_epoch, hw_moved)

    def configure(self, settings: PartitionSettings, now: float) -> bool:
        """Whether the high watermark moved."""
        self.settings = settings
        return self._membership_changed(now)

    def appended(self, log_end: int, now: float) -> bool:
        """Hot path: the leader's own log grew. Whether the high watermark moved."""
        assert log_end >= self.log_end
        self.log_end = log_end
        return self.role is Role.LEADER and self._advance(now)

    def flushed(self, flushed_end: int, now: float) -> bool:
        """The log is on the disk up to there. Whether the high watermark moved."""
        self.flushed_end = max(self.flushed_end, min(flushed_end, self.log_end))
        return self.role is Role.LEADER and self._advance(now)

    def follower_fetched(
        self, replica: int, replica_broker_epoch: int, fetch_offset: int, now: float, live_epochs: Mapping[int, int]
    ) -> Effect:
        """Hot path. Only for a fetch that passed `check_replica_epoch` and does not diverge: its offset is then the follower's log end.

        `live_epochs`: broker epoch of every broker that is neither fenced nor stopping, from the metadata image.
        """
        follower = self._followers.get(replica)
        if follower is None or live_epochs.get(replica) != replica_broker_epoch or fetch_offset > self.log_end:
            return NOTHING
        follower.fetched(fetch_offset, self.log_end, replica_broker_epoch, now)
        change = None if follower.committed else self._expansion(replica, follower, now, live_epochs)
        hw_moved = self._advance(now)
        if change is None:
            return _HW_MOVED if hw_moved else NOTHING
        return Effect(hw_moved, change)

    def tick(self, now: float, live_epochs: Mapping[int, int]) -> Effect:
        """To be called every second or so, at least twice in `lag_s`: proposes to drop who fell behind, settles what was not accepted."""
        if self.role is not Role.LEADER:
            return NOTHING
        for replica, follower in self._followers.items():
            follower.live = live_epochs.get(replica) == follower.broker_epoch
        change = self._shrinking(now, live_epochs)
        return Effect(self._advance(now), change)

    def isr_change_answered(self, change: IsrChange, answer: IsrAnswer | None, now: float) -> bool:
        """What became of `change`; None: nobody knows. Late answers to settled changes do no harm. Whether the high watermark moved."""
        if change.leader_epoch != self.leader_epoch:
            return False
        if answer is None or answer.error != ErrorCode.NONE or answer.partition_epoch <= self._isr.partition_epoch:
            self._isr.not_accepted(change, now)
            return False
        self._isr.settle(answer.isr, answer.partition_epoch)
        return self._membership_changed(now)

    def follower_hw(self, leader_hw: int, log_end: int) -> None:
        """A fetch response of the present leader was applied: the log ends there now. What was once known as committed stays so."""
        assert self.role is not Role.LEADER
        self._set_log_end(log_end)
        self.high_watermark = max(self.high_watermark, min(leader_hw, log_end))

    def truncated(self, log_end: int) -> None:
        """The log was cut at a diverging epoch, or begun anew. A cut below the high watermark happens after unclean elections only."""
        assert self.role is not Role.LEADER
        self._set_log_end(log_end)

    def retire(self) -> None:
        """This broker no longer holds the partition: whoever still waits here is sent away."""
        self.role = Role.NONE
        self.leader = NO_LEADER
        self._membership_changed(0.0)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Hot path: whether this broker leads, and in the epoch the client believes in; -1: the client does not say."""
        if current_leader_epoch not in (-1, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                raise BrokerError(ErrorCode.FENCED_LEADER_EPOCH, f"{self}: leader epoch {current_leader_epoch} is over")
            raise BrokerError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{self}: leader epoch {current_leader_epoch} is not known here yet")
        if self.role is not Role.LEADER:
            raise BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self}: broker {self.broker_id} is not the leader")

    def check_replica_epoch(self, current_leader_epoch: int) -> None:
        """As above for a fetch of a replica, which counts as an acknowledgement and so has to name the epoch."""
        if current_leader_epoch < 0:
            raise BrokerError(ErrorCode.FENCED_LEADER_EPOCH, f"{self}: a replica's fetch must name the leader epoch")
        self.check_epoch(current_leader_epoch)

    def may_append(self, acks: int) -> None:
        """Hot path. Raises NOT_LEADER_OR_FOLLOWER or NOT_ENOUGH_REPLICAS before anything is written."""
        if self.role is not Role.LEADER:
            raise BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self}: broker {self.broker_id} is not the leader")
        if acks == ACKS_ALL and self._frozen:
            raise BrokerError(ErrorCode.NOT_ENOUGH_REPLICAS, f"{self}: in sync are {self.isr}, at least {self._min_isr()} are asked for")

    def ack_state(self, required_offset: int, leader_epoch: int) -> ErrorCode | None:
        """Hot path: the answer to an acks=all produce appended in `leader_epoch` up to `required_offset` (exclusive); None: not yet.

        The epoch matters: after a change of leaders and back, another value may stand at that offset.
        """
        if self.role is not Role.LEADER or leader_epoch != self.leader_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.high_watermark < required_offset:
            return None
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if self._frozen else ErrorCode.NONE

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"

    def _role(self) -> Role:
        if self.broker_id not in self.replicas:
            return Role.NONE
        return Role.LEADER if self.leader == self.broker_id else Role.FOLLOWER

    def _min_isr(self) -> int:
        return min(self.settings.min_insync, len(self.replicas))

    def _set_log_end(self, log_end: int) -> None:
        self.log_end = log_end
        self.flushed_end = min(self.flushed_end, log_end)
        self.high_watermark = min(self.high_watermark, log_end)

    def _membership_changed(self, now: float) -> bool:
        """Bring what is derived from role, replicas, ISR and settings in line with them. Whether the high watermark moved."""
        if self.role is not Role.LEADER:
            self._followers = {}
            self._frozen = True
            return False
        self._followers = {
            replica: self._followers.get(replica) or FollowerProgress() for replica in self.replicas if replica != self.broker_id
        }
        for replica, follower in self._followers.items():
            follower.membership(replica in self._isr.committed, replica in self._isr.maximal, now)
        self._frozen = len(self._isr.committed) < self._min_isr()
        return self._advance(now)

    def _advance(self, now: float) -> bool:
        """Hot path. Besides the maximal ISR it waits for a follower that keeps up and may join: else a busy leader that
        is alone would run ahead of it for ever."""
        if self._frozen:
            return False
        end = self.flushed_end if self.settings.flush_counts else self.log_end
        for follower in self._followers.values():
            if follower.log_end < end and (follower.counted or (follower.live and now - follower.last_caught_up <= self.settings.lag_s)):
                end = follower.log_end
        if end <= self.high_watermark:
            return False
        self.high_watermark = end
        return True

    def _expansion(self, replica: int, follower: FollowerProgress, now: float, live_epochs: Mapping[int, int]) -> IsrChange | None:
        complete = follower.log_end >= self.high_watermark and follower.log_end >= self.epoch_start
        if not complete or not self._isr.may_propose(now):
            return None
        change = self._propose({*self.isr, replica}, live_epochs)
        follower.counted = follower.counted or change is not None
        return change

    def _shrinking(self, now: float, live_epochs: Mapping[int, int]) -> IsrChange | None:
        if not self._isr.may_propose(now):
            return None
        staying = {replica for replica in self.isr if replica == self.broker_id or self._keeps_up(replica, now, live_epochs)}
        if len(staying) == len(self.isr) and not self._isr.unsettled:
            return None
        return self._propose(staying, live_epochs)

    def _keeps_up(self, replica: int, now: float, live_epochs: Mapping[int, int]) -> bool:
        follower = self._followers.get(replica)
        return follower is not None and replica in live_epochs and follower.caught_up(self.log_end, now, self.settings.lag_s)

    def _propose(self, members: set[int], live_epochs: Mapping[int, int]) -> IsrChange | None:
        """A leader that the metadata calls fenced or stopping proposes nothing: the controller is about to depose it."""
        if self.broker_id not in live_epochs:
            return None
        present = [(replica, live_epochs[replica]) for replica in self.replicas if replica in members and replica in live_epochs]
        return self._isr.propose(self.leader_epoch, present)
