"""A broker of the model: the real Partition machine over a list as its log, and the thin shell's duties written out.

`Truncation` chooses how a follower makes its log agree with a new leader's. Only BY_EPOCH is right; the others are what Kafka
did before KIP-101 and before KIP-279, kept here to show what they lose.
"""

from dataclasses import dataclass
from enum import Enum

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.replication.isr import IsrChange
from broker_impl.replication.partition import Effect, Partition, PartitionSettings, Role
from tests.broker_impl.replication.model_controller import Answer, Metadata
from tests.broker_impl.replication.model_log import Entry, ModelLog

NEVER_ASKED = -2


class Truncation(Enum):
    BY_EPOCH = "leader and follower compare epochs at every fetch"
    BY_END_OFFSET_ONCE = "the follower asks once an epoch, and believes the offset without its epoch"
    TO_HIGH_WATERMARK = "the follower cuts at its own high watermark"


@dataclass(frozen=True, slots=True)
class FetchRequest:
    sender: int
    to: int
    broker_epoch: int
    leader_epoch: int
    offset: int
    last_epoch: int | None


@dataclass(frozen=True, slots=True)
class FetchResponse:
    to: int
    request: FetchRequest
    entries: tuple[Entry, ...] = ()
    high_watermark: int = -1
    diverging: tuple[int, int] | None = None
    beyond: int | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """An acks=all produce that waits."""

    value: int
    offset: int
    leader_epoch: int


class ModelNode:
    """Up while `machine` is there. What outlives a crash: the log, the checkpointed high watermark, the broker epoch's mark."""

    def __init__(self, broker: int, settings: PartitionSettings, truncation: Truncation, machine_type: type[Partition] = Partition) -> None:
        self.broker = broker
        self.settings = settings
        self.truncation = truncation
        self.machine_type = machine_type
        self.log = ModelLog()
        self.checkpoint = 0
        self.broker_epoch = -1
        self.position = -1
        self.now = 0.0
        self.machine: Partition | None = None
        self.parked: list[Parked] = []
        self.acknowledged: list[Parked] = []
        self.changes: list[IsrChange] = []
        self.truncations = 0
        self.clean_stop = False
        self.image: Metadata | None = None
        self._compared_epoch = NEVER_ASKED

    def start(self, broker_epoch: int) -> None:
        self.broker_epoch = broker_epoch
        self.machine = self.machine_type(
            "t", 0, self.broker, self.settings, log_end=self.log.end, flushed_end=self.log.flushed, high_watermark=self.checkpoint
        )
        self._compared_epoch = NEVER_ASKED

    def stop(self) -> None:
        self.machine = None
        self.parked.clear()
        self.changes.clear()

    def leads(self) -> bool:
        return self.machine is not None and self.machine.role is Role.LEADER

    def follow(self, metadata: Metadata, position: int) -> None:
        assert self.machine is not None
        self.image, self.position = metadata, position
        transition = self.machine.become(metadata.state, self.log.end, self.now)
        if transition.new_epoch and transition.role is Role.FOLLOWER and self.truncation is Truncation.TO_HIGH_WATERMARK:
            self._truncate(self.machine.high_watermark)
        self._answer_parked()

    def produce(self, value: int, *, acks_all: bool) -> bool:
        assert self.machine is not None
        try:
            self.machine.may_append(-1 if acks_all else 1)
        except BrokerError:
            return False
        self.log.entries.append(Entry(self.machine.leader_epoch, value))
        self.machine.appended(self.log.end, self.now)
        if acks_all:
            self.parked.append(Parked(value, self.log.end - 1, self.machine.leader_epoch))
        self._answer_parked()
        return True

    def flush(self) -> None:
        assert self.machine is not None
        self.log.flush()
        self.machine.flushed(self.log.flushed, self.now)
        self._answer_parked()

    def tick(self) -> None:
        assert self.machine is not None
        if self.image is not None:
            self._carry_out(self.machine.tick(self.now, self.image.live))

    def isr_answered(self, change: IsrChange, answer: Answer | None) -> None:
        assert self.machine is not None
        self.machine.isr_change_answered(change, answer, self.now)
        self._answer_parked()

    def fetch(self) -> FetchRequest | None:
        """What a follower asks its leader; where flushing counts, only once all it has is flushed."""
        machine = self.machine
        if machine is None or machine.role is not Role.FOLLOWER or machine.leader < 0:
            return None
        if machine.settings.flush_counts and self.log.flushed < self.log.end:
            return None
        return FetchRequest(self.broker, machine.leader, self.broker_epoch, machine.leader_epoch, self.log.end, self._epoch_to_compare())

    def serve(self, request: FetchRequest, limit: int) -> FetchResponse | None:
        machine = self.machine
        if machine is None or self.image is None:
            return None
        try:
            machine.check_replica_epoch(request.leader_epoch)
        except BrokerError:
            return None
        if request.last_epoch is not None and request.last_epoch >= 0:
            epoch, end = self.log.end_offset_for(request.last_epoch)
            if epoch < request.last_epoch or end < request.offset:
                return FetchResponse(request.sender, request, diverging=(epoch, end))
        if request.offset > self.log.end:
            return FetchResponse(request.sender, request, beyond=self.log.end)
        self._carry_out(machine.follower_fetched(request.sender, request.broker_epoch, request.offset, self.now, self.image.live))
        entries = tuple(self.log.entries[request.offset : request.offset + limit])
        return FetchResponse(request.sender, request, entries, machine.high_watermark)

    def fetched(self, response: FetchResponse) -> None:
        """Applied only if leader, epoch, offset and the epoch before that offset are still those of the request.

        Without the last one an old answer "you diverge" would cut a log that was cut and has grown to the same length since.
        """
        machine, request = self.machine, response.request
        if machine is None or machine.role is not Role.FOLLOWER:
            return
        if (request.to, request.leader_epoch, request.offset) != (machine.leader, machine.leader_epoch, self.log.end):
            return
        if request.last_epoch not in (None, self.log.last_epoch()):
            return
        self._compared_epoch = machine.leader_epoch
        if response.diverging is not None:
            epoch, end = response.diverging
            by_epoch = self.truncation is Truncation.BY_EPOCH
            self._truncate(min(end, self.log.end_offset_for(epoch)[1]) if by_epoch else end)
        elif response.beyond is not None:
            self._truncate(response.beyond)
        else:
            self.log.entries.extend(response.entries)
            machine.follower_hw(response.high_watermark, self.log.end)

    def _epoch_to_compare(self) -> int | None:
        assert self.machine is not None
        if self.truncation is Truncation.BY_EPOCH:
            return self.log.last_epoch()
        if self.truncation is Truncation.BY_END_OFFSET_ONCE and self._compared_epoch != self.machine.leader_epoch:
            return self.log.last_epoch()
        return None

    def _truncate(self, end: int) -> None:
        assert self.machine is not None
        if end < self.log.end:
            self.truncations += 1
            self.log.truncate(end)
            self.machine.truncated(self.log.end)

    def _carry_out(self, effect: Effect) -> None:
        if effect.isr_change is not None:
            self.changes.append(effect.isr_change)
        self._answer_parked()

    def _answer_parked(self) -> None:
        assert self.machine is not None
        waiting = []
        for produce in self.parked:
            state = self.machine.ack_state(produce.offset + 1, produce.leader_epoch)
            if state is None:
                waiting.append(produce)
            elif state is ErrorCode.NONE:
                self.acknowledged.append(produce)
        self.parked = waiting
