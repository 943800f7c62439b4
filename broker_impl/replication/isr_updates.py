"""A leader's wish to change its in-sync replicas, on its way to the controller and back.

A leader never changes the set itself: it proposes, naming the leader epoch and partition epoch it knows, and the
controller accepts only if both are still current. Wishes of one moment travel in one command. An answer that never
came leaves the partition in doubt; it then keeps counting the larger set until the metadata log tells.
"""

import asyncio
from collections.abc import Callable

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import AlterIsr, AlterIsrReply, IsrResult
from broker_impl.quorum.commands import IsrChange as IsrCommand
from broker_impl.quorum.node import QuorumNode
from broker_impl.replication.isr import IsrChange
from broker_impl.replication.replica import Replica

TIMEOUT_S = 2.0


class IsrUpdates:
    def __init__(self, loop: asyncio.AbstractEventLoop, quorum: QuorumNode, broker_id: int) -> None:
        self._loop = loop
        self._quorum = quorum
        self._broker_id = broker_id
        self._wishes: dict[Replica, IsrChange] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.broker_epoch = -1
        self.on_watermark: Callable[[Replica], None]

    def wish(self, replica: Replica, change: IsrChange) -> None:
        if not self._wishes:
            self._loop.call_soon(self._send)
        self._wishes[replica] = change

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _send(self) -> None:
        wishes, self._wishes = self._wishes, {}
        task = self._loop.create_task(self._ask(wishes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, wishes: dict[Replica, IsrChange]) -> None:
        changes = [
            IsrCommand(replica.log.topic_id, replica.index, change.leader_epoch, change.partition_epoch, list(change.new_isr))
            for replica, change in wishes.items()
        ]
        command = AlterIsr(self._broker_id, self.broker_epoch, changes)
        try:
            reply = await self._quorum.submit(command, TIMEOUT_S, again_if_lost=False)
        except BrokerError:
            self._settle(wishes, None)
            return
        assert isinstance(reply, AlterIsrReply)
        self._settle(wishes, reply.results if reply.error == ErrorCode.NONE else None)

    def _settle(self, wishes: dict[Replica, IsrChange], results: "list[IsrResult] | None") -> None:
        now = self._loop.time()
        for position, (replica, change) in enumerate(wishes.items()):
            result = results[position] if results is not None else None
            if replica.state.isr_change_answered(change, result, now):
                self.on_watermark(replica)
