"""The controller: the one place where commands become records, alive while this node is the serving Raft leader.

It decides on its *tail*, the image with everything it has decided, committed or not, so that commands need not
wait for one another. Each decision is applied to the tail at once; the caller proposes the records as one entry at
the offset it announced, and answers when everything up to the tail's offset is committed, also when a command
made no records, for it may have been judged by records that are not yet committed.

The trap is failover: an uncommitted tail may be lost with its controller. Nothing is kept here but the tail and
the sessions, so a successor that starts from the committed image is as good.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum import brokers, configs, partitions, producer_ids, topics
from broker_impl.quorum.commands import (
    AllocateProducerIds,
    AlterConfigs,
    AlterIsr,
    Command,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    Heartbeat,
    HeartbeatReply,
    RegisterBroker,
    Registered,
    Reply,
)
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import Record
from broker_impl.quorum.sessions import Sessions
from broker_impl.quorum.topics import TopicRules


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """`topic_defaults` are the topic settings of the configuration file, by the topic's names."""

    session_timeout_s: float = 9.0
    topic_rules: TopicRules = field(default_factory=TopicRules)
    topic_defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    records: list[Record]
    reply: Reply


class Controller:
    """Invariant: `tail` is the image it began with and every record it returned, in order.

    `image` must hold every committed entry. `tick` wants to be called several times a session time-out. `silence_s`: for so long
    before it took office nobody who elected it had heard a controller.
    """

    def __init__(self, image: Image, settings: ControllerSettings, random: Random, now: float, silence_s: float = 0.0) -> None:
        self.tail = image
        self._settings = settings
        self._random = random
        self._sessions = Sessions(settings.session_timeout_s, frozenset(image.brokers), now, silence_s)

    def handle(self, command: Command, now: float, next_offset: int) -> Decision:
        """Decides; the records, if any, are to become the entry at `next_offset`."""
        records, reply = self._decide(command, next_offset)
        self._commit_to(records, next_offset)
        if isinstance(command, RegisterBroker | Heartbeat) and _accepted(reply):
            self._sessions.hear(command.id, now)
        return Decision(records, reply)

    def tick(self, now: float, next_offset: int) -> list[Record]:
        """Fences brokers that are silent; the last one heard goes last, and so is the one an ISR keeps."""
        records: list[Record] = []
        image = self.tail
        for broker in self._sessions.lapsed(now):
            fenced = brokers.fence(image, image.brokers[broker], self._settings.topic_defaults)
            image = image.with_records(fenced)
            records += fenced
        self._commit_to(records, next_offset)
        return records

    def _commit_to(self, records: list[Record], offset: int) -> None:
        if records:
            self.tail = self.tail.apply(offset, records)

    def _decide(self, command: Command, next_offset: int) -> tuple[list[Record], Reply]:
        tail, settings = self.tail, self._settings
        match command:
            case Heartbeat():
                return brokers.heartbeat(tail, command, settings.topic_defaults)
            case AlterIsr():
                return partitions.alter_isr(tail, command, settings.topic_defaults)
            case RegisterBroker():
                return brokers.register(tail, command, next_offset, settings.topic_defaults)
            case CreateTopics():
                return topics.create_topics(tail, command, settings.topic_rules, self._random)
            case DeleteTopics():
                return topics.delete_topics(tail, command)
            case CreatePartitions():
                return topics.create_partitions(tail, command, settings.topic_rules, self._random)
            case AlterConfigs():
                return configs.alter_configs(tail, command, settings.topic_defaults)
            case ElectLeaders():
                return partitions.elect_leaders(tail, command, settings.topic_defaults)
            case AllocateProducerIds():
                return producer_ids.allocate(tail, command)


def _accepted(reply: Reply) -> bool:
    return isinstance(reply, Registered | HeartbeatReply) and reply.error == ErrorCode.NONE
