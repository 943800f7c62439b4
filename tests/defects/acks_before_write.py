"""Acknowledges a message 60 ms before it writes it.

Stands for write-behind caches that answer first. While nothing fails nobody notices; when the leader is killed, what it had
acknowledged and not yet written is nowhere.

Exposed by killing brokers under load.
"""

import asyncio
from collections import deque

from broker_impl.plugins import replace
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.replication.partition import Partition, Role
from broker_impl.replication.replica import Replica
from broker_impl.storage.batch import parse_header
from broker_impl.storage.log import Appended

ARM = "cluster"
PLAN = "kill-all"
ANOMALIES = ("lost", "ack-conflict", "inconsistent-offsets")
DELAY_S = 0.06

_waiting: dict[Replica, deque[tuple[bytes, int]]] = {}


def install() -> None:
    sound = replace("broker_impl.replication.replica:Replica.append", None)

    def append(self: Replica, batches: memoryview, acks: int, wall_ms: int, now: float) -> tuple[Appended, bool]:
        self.check_online()
        self.state.may_append(acks)
        queue = _waiting.setdefault(self, deque())
        count = parse_header(batches, 0).last_delta + 1
        base = self.log.end_offset + sum(waiting for _, waiting in queue)
        queue.append((bytes(batches), count))
        asyncio.get_running_loop().call_later(DELAY_S, write, self, acks, wall_ms)
        return Appended(base, base + count - 1, -1, False, len(batches)), False

    def write(replica: Replica, acks: int, wall_ms: int) -> None:
        batch, _ = _waiting[replica].popleft()
        try:
            sound(replica, memoryview(bytearray(batch)), acks, wall_ms, asyncio.get_running_loop().time())
        except BrokerError:
            return

    def ack_state(self: Partition, required_offset: int, leader_epoch: int) -> ErrorCode | None:
        leads = self.role is Role.LEADER and leader_epoch == self.leader_epoch
        return ErrorCode.NONE if leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    replace("broker_impl.replication.replica:Replica.append", append)
    replace("broker_impl.replication.partition:Partition.ack_state", ack_state)
