"""Group commit: one flush at a time a log, and nobody is forgotten."""

import asyncio
import io
import random
from collections.abc import Callable
from typing import Any

from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.replication.flusher import Flusher
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import LogConfig
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.replication.replica_making import batch, become_leader, make_directory, make_replica


class HeldThreads:
    """Work waits until the test lets it go."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []

    async def run(self, work: Callable[..., Any], *arguments: object) -> Any:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(gate)
        await gate
        return work(*arguments)

    def close(self) -> None:
        return None

    def let_go(self) -> None:
        self.waiting.pop(0).set_result(None)


def make(disk: ForgetfulDisk, told: list[int]) -> tuple[Flusher, HeldThreads, Replica]:
    threads = HeldThreads()
    machine = Machine(disk, clock.wall_ms, random.Random(1), threads, Journal(1, io.StringIO()))
    flusher = Flusher(machine, asyncio.get_running_loop().create_task, lambda replica: told.append(replica.log.flushed_offset))  # type: ignore[arg-type]
    replica = make_replica(make_directory(disk), 0, LogConfig(flush_messages=1, timestamp_after_max_ms=2**63 - 1))
    become_leader(replica, 0)
    return flusher, threads, replica


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_appends_during_a_flush_share_the_next_one() -> None:
    async def scenario() -> None:
        told: list[int] = []
        flusher, threads, replica = make(ForgetfulDisk(), told)
        for number in range(5):
            replica.append(batch(b"v%d" % number), 1, 0, 0.0)
            flusher.appended(replica)
            await settle()
        assert len(threads.waiting) == 1
        replica_end = replica.log.end_offset
        threads.let_go()
        await settle()
        assert len(threads.waiting) == 1
        threads.let_go()
        await settle()
        assert told[-1] == replica_end == 5
        assert not threads.waiting

    asyncio.run(scenario())


def test_a_failed_flush_takes_the_log_offline_and_is_not_tried_again() -> None:
    async def scenario() -> None:
        disk = ForgetfulDisk()
        told: list[int] = []
        flusher, threads, replica = make(disk, told)
        replica.append(batch(b"v"), 1, 0, 0.0)
        flusher.appended(replica)
        await settle()
        disk.sync_error = OSError(5, "the disk is gone")
        threads.let_go()
        await settle()
        disk.sync_error = None
        assert replica.log.failed is not None
        assert told == [0]
        assert not threads.waiting

    asyncio.run(scenario())
