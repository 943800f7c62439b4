"""A small honest controller: one partition, compare-and-set of its ISR, elections from the ISR only, broker epochs and fencing.

What it decides becomes an entry of a metadata log, which each broker follows at its own pace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from broker_impl.protocol.errors import ErrorCode
from broker_impl.replication.isr import IsrChange


@dataclass(frozen=True, slots=True)
class State:
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """One position of the metadata log: the partition, and the broker epoch of every live broker."""

    state: State
    live: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Answer:
    error: int
    isr: tuple[int, ...]
    partition_epoch: int


class ModelController:
    def __init__(self, replicas: tuple[int, ...]) -> None:
        self.epochs = {broker: number for number, broker in enumerate(replicas, start=1)}
        self.fenced: set[int] = set()
        self.state = State(replicas[0], 1, 1, replicas, replicas)
        self.log = [Metadata(self.state, dict(self.epochs))]

    def alter_isr(self, sender: int, sender_epoch: int, change: IsrChange) -> Answer:
        error = self._refusal(sender, sender_epoch, change)
        if error is ErrorCode.NONE:
            self._record(replace(self.state, isr=tuple(broker for broker, _ in change.new_isr)))
        return Answer(error, self.state.isr, self.state.partition_epoch)

    def fence(self, broker: int) -> None:
        """The session lapsed: it leaves the ISR unless it is the last one there, and leads no more."""
        if broker in self.fenced:
            return
        self.fenced.add(broker)
        self._record(self._elect(self._without(broker), moved=self.state.leader == broker))

    def register(self, broker: int, *, clean: bool) -> int:
        """A new incarnation, fenced at first. After an unclean stop it leaves the ISR unless it is the last one there."""
        self.epochs[broker] = max(self.epochs.values()) + 1
        self.fenced.add(broker)
        state = self.state if clean else self._without(broker)
        self._record(self._elect(state, moved=state.leader == broker))
        return self.epochs[broker]

    def unfence(self, broker: int) -> None:
        if broker not in self.fenced:
            return
        self.fenced.discard(broker)
        self._record(self._elect(self.state, moved=False) if self.state.leader < 0 else self.state)

    def elect(self, broker: int) -> None:
        """Leadership is moved on request, within the ISR."""
        if broker in self.state.isr and broker not in self.fenced and broker != self.state.leader:
            self._record(replace(self.state, leader=broker, leader_epoch=self.state.leader_epoch + 1))

    def _refusal(self, sender: int, sender_epoch: int, change: IsrChange) -> ErrorCode:
        state = self.state
        if sender_epoch != self.epochs[sender] or sender in self.fenced:
            return ErrorCode.STALE_BROKER_EPOCH
        if state.leader != sender or change.leader_epoch != state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if change.partition_epoch != state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        if any(broker in self.fenced or self.epochs[broker] != epoch for broker, epoch in change.new_isr):
            return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.NONE

    def _without(self, broker: int) -> State:
        rest = tuple(member for member in self.state.isr if member != broker)
        return replace(self.state, isr=rest) if rest else self.state

    def _elect(self, state: State, *, moved: bool) -> State:
        """The first live member of the ISR in assignment order, if the leader must go or there is none."""
        if not moved and state.leader >= 0:
            return state
        live = [broker for broker in state.replicas if broker in state.isr and broker not in self.fenced]
        leader = live[0] if live else -1
        if leader == state.leader:
            return state
        return replace(state, leader=leader, leader_epoch=state.leader_epoch + 1)

    def _record(self, state: State) -> None:
        """Every accepted change moves the partition epoch, even one that leaves the ISR as it is: so the older proposals die."""
        if state is not self.state:
            self.state = replace(state, partition_epoch=self.state.partition_epoch + 1)
        live = {broker: epoch for broker, epoch in self.epochs.items() if broker not in self.fenced}
        self.log.append(Metadata(self.state, live))
