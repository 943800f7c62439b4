"""A controller with its log and its clock in hand: what the tests of this folder drive."""

from random import Random

from broker_impl.quorum.commands import (
    AlterIsr,
    AlterIsrReply,
    Command,
    CreateTopics,
    Heartbeat,
    HeartbeatReply,
    IsrChange,
    IsrResult,
    NewTopic,
    RegisterBroker,
    Registered,
    Reply,
)
from broker_impl.quorum.controller import Controller, ControllerSettings
from broker_impl.quorum.image import Image, PartitionImage
from broker_impl.quorum.records import Record

SESSION_S = 3.0
STEP_S = 0.5


class Cluster:
    """Brokers 1..n, registered and live. Every entry is kept, so that a replay can be compared."""

    def __init__(self, brokers: int = 0, settings: ControllerSettings | None = None, seed: int = 0) -> None:
        self.settings = settings or ControllerSettings(session_timeout_s=SESSION_S)
        self.random = Random(seed)
        self.now = 100.0
        self.entries: list[tuple[int, list[Record]]] = []
        self.controller = Controller(Image.empty(), self.settings, self.random, self.now)
        self.incarnations = 0
        for broker in range(1, brokers + 1):
            self.start(broker)

    @property
    def image(self) -> Image:
        return self.controller.tail

    @property
    def next_offset(self) -> int:
        return self.entries[-1][0] + 1 if self.entries else 1

    def do(self, command: Command) -> Reply:
        decision = self.controller.handle(command, self.now, self.next_offset)
        self._keep(decision.records)
        return decision.reply

    def tick(self) -> list[Record]:
        records = self.controller.tick(self.now, self.next_offset)
        self._keep(records)
        return records

    def pass_time(self, seconds: float, *beating: int) -> None:
        """Time goes by in small steps; only these brokers are heard."""
        for _ in range(round(seconds / STEP_S)):
            self.now += STEP_S
            for broker in beating:
                self.heartbeat(broker)
            self.tick()

    def register(self, broker: int, clean_epoch: int | None = None, incarnation: str | None = None, **ends: tuple[int, int]) -> int:
        """`ends`: last epoch and end of its log of partition 0 of the topics named."""
        self.incarnations += 1
        name = incarnation or f"run-{self.incarnations}"
        logs = [(self.image.topics[topic].id, 0, *end) for topic, end in ends.items()]
        reply = self.do(RegisterBroker(broker, name, "127.0.0.1", 9000 + broker, None, clean_epoch, logs))
        assert isinstance(reply, Registered)
        return reply.epoch

    def heartbeat(self, broker: int, *, stop: bool = False) -> HeartbeatReply:
        reply = self.do(Heartbeat(broker, self.epoch(broker), self.next_offset - 1, stop))
        assert isinstance(reply, HeartbeatReply)
        return reply

    def start(self, broker: int, clean_epoch: int | None = None, **ends: tuple[int, int]) -> int:
        epoch = self.register(broker, clean_epoch, None, **ends)
        self.heartbeat(broker)
        return epoch

    def fence(self, broker: int) -> None:
        others = [other.id for other in self.image.brokers.values() if other.live and other.id != broker]
        self.pass_time(SESSION_S + STEP_S, *others)

    def epoch(self, broker: int) -> int:
        return self.image.brokers[broker].epoch

    def create(self, name: str, *replicas: tuple[int, ...], **configs: str) -> PartitionImage:
        """A topic with these replicas a partition; `unclean="true"` allows unclean elections. Returns partition 0."""
        settings: dict[str, str | None] = {"unclean.leader.election.enable": configs["unclean"]} if configs else {}
        self.do(CreateTopics([NewTopic(name, assignment=[(index, list(ids)) for index, ids in enumerate(replicas)], configs=settings)]))
        return self.partition(name)

    def partition(self, name: str, index: int = 0) -> PartitionImage:
        return self.image.topics[name].partitions[index]

    def isr_change(self, name: str, *isr: int) -> IsrChange:
        """What the leader would ask for on the present state."""
        partition = self.partition(name)
        members = [(member, self.epoch(member) if member in self.image.brokers else 0) for member in isr]
        return IsrChange(self.image.topics[name].id, 0, partition.leader_epoch, partition.partition_epoch, members)

    def alter(self, sender: int, change: IsrChange) -> IsrResult:
        reply = self.do(AlterIsr(sender, self.epoch(sender), [change]))
        assert isinstance(reply, AlterIsrReply)
        assert reply.error == 0
        return reply.results[0]

    def replayed(self) -> Image:
        image = Image.empty()
        for offset, records in self.entries:
            image = image.apply(offset, records)
        return image

    def _keep(self, records: list[Record]) -> None:
        if records:
            self.entries.append((self.next_offset, records))
