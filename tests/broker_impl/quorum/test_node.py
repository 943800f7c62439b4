"""The shell around Raft and the controller: three nodes in one loop, with messages that may be cut off."""

import asyncio
import io
import itertools
import json
import random
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, cast

from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import Inline
from broker_impl.network.peers import ReplyEnvelope
from broker_impl.quorum.commands import (
    AlterIsr,
    Command,
    CreateTopics,
    Heartbeat,
    HeartbeatReply,
    IsrChange,
    NewTopic,
    RegisterBroker,
    Registered,
)
from broker_impl.quorum.controller import ControllerSettings
from broker_impl.quorum.node import QuorumNode
from broker_impl.quorum.raft import RaftMessage, RaftSettings
from tests.broker_impl.forgetful_disk import ForgetfulDisk

DEADLINE_S = 60.0
VOTERS = (1, 2, 3)


class Posts:
    """Stands for the links of one node: delivers in the next turn of the loop, unless either end is cut off."""

    def __init__(self, group: "Group", node: int) -> None:
        self._group = group
        self._node = node

    def connect(self, nodes: Iterable[int]) -> None:
        return

    def post(self, to: int, message: RaftMessage) -> None:
        asyncio.get_running_loop().call_soon(self._deliver, to, message)

    def _deliver(self, to: int, message: RaftMessage) -> None:
        if not self._group.cut_off & {to, self._node}:
            self._group.nodes[to].receive(message)


class Group:
    def __init__(self) -> None:
        self.cut_off: set[int] = set()
        self.told = io.StringIO()
        self.nodes = {node: self._make(node) for node in VOTERS}
        for node in self.nodes.values():
            node.start()

    def _make(self, node: int) -> QuorumNode:
        machine = Machine(ForgetfulDisk(), clock.wall_ms, random.Random(node), Inline(), Journal(node, self.told))
        raft = RaftSettings(election_timeout_s=0.3, heartbeat_s=0.02)
        loop, peers = asyncio.get_running_loop(), cast(Any, Posts(self, node))
        return QuorumNode(loop, node, VOTERS, "/quorum", machine, peers, raft, ControllerSettings(), 1 << 20)

    async def controller(self) -> QuorumNode:
        found: list[QuorumNode] = []

        def look() -> bool:
            found[:] = [node for node in self.nodes.values() if node.raft.serving and node._controller is not None]
            return bool(found)

        await until(look)
        return found[0]

    async def running_broker(self) -> Heartbeat:
        """Registered and unfenced: its heartbeat, to be repeated."""
        while True:
            controller = await self.controller()
            registered = await controller.serve(RegisterBroker(7, "run", "host", 9092))
            if registered is None or registered.reply is None:
                continue
            assert isinstance(registered.reply, Registered)
            heartbeat = Heartbeat(7, registered.reply.epoch, registered.reply.epoch, False)
            if grants(await controller.serve(heartbeat)):
                return heartbeat

    async def close(self) -> None:
        for node in self.nodes.values():
            await node.close()


def grants(envelope: ReplyEnvelope | None) -> bool:
    return envelope is not None and isinstance(envelope.reply, HeartbeatReply) and not envelope.reply.fenced


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.001)


def run(scenario: Callable[[Group], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        group = Group()
        try:
            await scenario(group)
        finally:
            await group.close()

    asyncio.run(main())


def test_a_heartbeat_is_answered_by_a_controller_that_is_followed() -> None:
    async def scenario(group: Group) -> None:
        heartbeat = await group.running_broker()
        async with asyncio.timeout(DEADLINE_S):
            while not grants(await (await group.controller()).serve(heartbeat)):
                await asyncio.sleep(0.001)

    run(scenario)


def test_a_controller_that_nobody_follows_any_more_grants_no_lease() -> None:
    """It may not know yet that it is cut off; a successor that counts the silence before its own election rests on this."""

    async def scenario(group: Group) -> None:
        heartbeat = await group.running_broker()
        controller = await group.controller()
        group.cut_off = {node for node, one in group.nodes.items() if one is controller}
        answer = asyncio.ensure_future(controller.serve(heartbeat))
        await until(answer.done)
        assert not grants(answer.result())
        assert not controller.raft.serving

    run(scenario)


def test_the_controller_tells_of_a_wish_for_an_isr_that_rests_on_an_old_state() -> None:
    async def scenario(group: Group) -> None:
        heartbeat = await group.running_broker()
        for name in map(str, itertools.count()):  # until no change of controllers comes between
            controller = await group.controller()
            if not await answered(controller, CreateTopics([NewTopic(name, assignment=[(0, [7]), (1, [7])])])):
                continue
            topic = controller.image.topics[name]
            epochs = {0: topic.partitions[0].partition_epoch, 1: topic.partitions[1].partition_epoch - 1}
            changes = [IsrChange(topic.id, part, 0, epoch, [(7, heartbeat.epoch)]) for part, epoch in epochs.items()]
            if await answered(controller, AlterIsr(7, heartbeat.epoch, changes)):
                break
        refused = [line for line in map(json.loads, group.told.getvalue().splitlines()) if line["event"] == "isr-change-refused"]
        assert [(line["part"], line["broker"], line["isr"]) for line in refused if line["topic"] == name] == [(1, 7, [7])]

    run(scenario)


async def answered(controller: QuorumNode, command: Command) -> bool:
    envelope = await controller.serve(command)
    return envelope is not None and envelope.reply is not None
