"""What a broker does unasked: when it judges its followers, and when it does not."""

import asyncio
import io
import random
import threading
from types import SimpleNamespace
from typing import Any, cast

from broker_impl.config import load_config
from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import Inline, ThreadPool
from broker_impl.replication.partition import NOTHING
from broker_impl.replication.replica import Replica
from broker_impl.replication.upkeep import Upkeep
from tests.broker_impl.forgetful_disk import ForgetfulDisk

DEADLINE_S = 60.0


class Clock:
    """A loop of which only the time is used."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now


class OneReplica:
    live_epochs: dict[int, int] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.judged: list[float] = []
        log = SimpleNamespace(topic="t", partition=0, flushed_offset=0, end_offset=0)
        self._replica = Replica(cast(Any, log), cast(Any, SimpleNamespace(tick=self._tick)))

    def _tick(self, now: float, live_epochs: object) -> object:
        self.judged.append(now)
        return NOTHING

    def __iter__(self) -> Any:
        return iter([self._replica])

    def retry_unmade(self) -> None:
        return None


def test_a_leader_that_was_stopped_itself_judges_its_followers_only_at_the_next_look() -> None:
    now, replicas = Clock(), OneReplica()
    config = load_config({"node.id": 1, "listeners": "127.0.0.1:1", "log.dirs": "/d"})
    machine = Machine(ForgetfulDisk(), clock.wall_ms, random.Random(1), Inline(), Journal(1, io.StringIO()))
    upkeep = Upkeep(cast(Any, now), config, machine, cast(Any, None), cast(Any, replicas))
    for at in (100.0, 100.5, 106.0, 106.5):
        now.now = at
        asyncio.run(upkeep._tick())
    assert replicas.judged == [100.0, 100.5, 106.5]


def test_a_checkpoint_that_is_being_written_is_waited_for() -> None:
    began, may_end = threading.Event(), threading.Event()

    def checkpoint(_watermarks: object) -> None:
        began.set()
        may_end.wait(DEADLINE_S)

    async def scenario() -> None:
        often = {"replica.high.watermark.checkpoint.interval.ms": 10}
        config = load_config({"node.id": 1, "listeners": "127.0.0.1:1", "log.dirs": "/d"} | often)
        machine = Machine(ForgetfulDisk(), clock.wall_ms, random.Random(1), ThreadPool(), Journal(1, io.StringIO()))
        directory = SimpleNamespace(checkpoint=checkpoint)
        upkeep = Upkeep(asyncio.get_running_loop(), config, machine, cast(Any, directory), cast(Any, []))
        upkeep.start()
        assert await asyncio.to_thread(began.wait, DEADLINE_S)
        closing = asyncio.ensure_future(upkeep.close())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not closing.done()
        may_end.set()
        await asyncio.wait_for(closing, DEADLINE_S)
        machine.threads.close()

    asyncio.run(scenario())
