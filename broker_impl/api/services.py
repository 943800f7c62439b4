"""What the handlers of all APIs share: the broker's parts, and how a refusal names the leader to go to."""

import asyncio
from dataclasses import dataclass, field

from broker_impl.config import Config
from broker_impl.machine import Machine
from broker_impl.protocol.endpoints import NodeEndpoint
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import Command, Reply
from broker_impl.quorum.node import QuorumNode
from broker_impl.replication.replicas import Replicas

HINTED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


@dataclass(slots=True)
class Services:
    """`caught_up` is set once the image holds this broker's registration. Before that it may be of any age: a broker that
    restarts would call topics unknown that exist."""

    loop: asyncio.AbstractEventLoop
    config: Config
    machine: Machine
    quorum: QuorumNode
    replicas: Replicas
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def submit(self, command: Command, timeout_ms: int) -> Reply:
        """To the controller, and back when this broker's own image has the outcome: the client asks here next."""
        return await self.quorum.submit(command, max(timeout_ms, 1000) / 1000, again_if_lost=False, see_it=True)

    def leader_hint(self, topic: str, index: int, code: int) -> tuple[int, int] | None:
        """(leader, epoch) as KIP-951 sends it along with a refusal, where this broker knows better than the client."""
        if code not in HINTED:
            return None
        known = self.replicas.image.topics.get(topic)
        partition = known.partitions.get(index) if known is not None else None
        return None if partition is None else (partition.leader, partition.leader_epoch)

    def endpoints(self, leaders: set[int]) -> list[NodeEndpoint]:
        brokers = self.replicas.image.brokers
        return [
            NodeEndpoint(broker.id, broker.host, broker.port, broker.rack)
            for broker in (brokers.get(leader) for leader in leaders)
            if broker
        ]


def tell_fenced(machine: Machine, problem: BrokerError, topic: str, index: int) -> None:
    if problem.code == ErrorCode.FENCED_LEADER_EPOCH:
        machine.journal.info("epoch-fenced", topic=topic, part=index, why=problem.message)
