"""What a broker does for its partitions when nobody asks: drop laggards, checkpoint, retire old segments, flush in time."""

import asyncio
from collections.abc import Awaitable, Callable

from broker_impl.config import Config
from broker_impl.machine import Machine
from broker_impl.replication.replica import Replica
from broker_impl.replication.replicas import Replicas
from broker_impl.storage.log_directory import LogDirectory

TICK_S = 0.5


class Upkeep:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, config: Config, machine: Machine, directory: LogDirectory, replicas: Replicas
    ) -> None:
        self._loop = loop
        self._config = config
        self._machine = machine
        self._directory = directory
        self._replicas = replicas
        self._tick_s = min(TICK_S, config.replica_lag_ms / 4000)
        self._ticked: float | None = None
        self._unflushed_since: dict[Replica, float] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._writing: asyncio.Future[None] | None = None
        self._doomed: dict[str, asyncio.TimerHandle] = {}

    def start(self) -> None:
        config = self._config
        every = [
            (self._tick_s, self._tick),
            (config.watermark_checkpoint_ms / 1000, self._checkpoint),
            (config.retention_check_ms / 1000, self._retire),
        ]
        self._tasks = [self._loop.create_task(self._repeat(seconds, work)) for seconds, work in every]

    async def close(self) -> None:
        """A checkpoint that is being written is waited for: its thread cannot be stopped, and must not meet the last one."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._writing is not None:
            await asyncio.wait([self._writing])
        for handle in self._doomed.values():
            handle.cancel()

    def remove_later(self, path: str, delay_s: float) -> None:
        """Removes files or folders that were set aside, once readers had time to finish."""
        self._doomed[path] = self._loop.call_later(delay_s, self._remove, path)

    def checkpoint(self) -> None:
        """Blocking."""
        self._directory.checkpoint({(replica.topic, replica.index): replica.state.high_watermark for replica in self._replicas})

    async def _repeat(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except OSError as problem:
                self._machine.journal.error("upkeep-failed", why=str(problem))
            except Exception as problem:
                self._machine.journal.failure("upkeep-failed", problem)

    async def _tick(self) -> None:
        now = self._loop.time()
        replicas = self._replicas
        unflushed, self._unflushed_since = self._unflushed_since, {}
        judging = self._may_judge(now)
        for replica in list(replicas):
            if judging:
                self._judge(replica, now)
            self._flush_in_time(replica, unflushed.get(replica, now), now)
        replicas.retry_unmade()

    def _may_judge(self, now: float) -> bool:
        """A leader that was itself stopped for a while has its followers' fetches lying unread: it reads them before it calls
        anybody slow."""
        was_stalled = self._ticked is not None and now - self._ticked > 2 * self._tick_s
        self._ticked = now
        return not was_stalled

    def _judge(self, replica: Replica, now: float) -> None:
        effect = replica.state.tick(now, self._replicas.live_epochs)
        if effect.isr_change is not None:
            self._replicas.isr_updates.wish(replica, effect.isr_change)
        if effect.hw_moved:
            self._replicas.watermark_moved(replica)

    def _flush_in_time(self, replica: Replica, since: float, now: float) -> None:
        if replica.log.flushed_offset >= replica.log.end_offset:
            return
        if (now - since) * 1000 >= replica.log.config.flush_ms:
            self._replicas.flusher.flush(replica)
        else:
            self._unflushed_since[replica] = since

    async def _checkpoint(self) -> None:
        watermarks = {(replica.topic, replica.index): replica.state.high_watermark for replica in self._replicas}
        self._writing = asyncio.ensure_future(self._machine.threads.run(self._directory.checkpoint, watermarks))
        await asyncio.shield(self._writing)

    async def _retire(self) -> None:
        wall_ms = self._machine.wall_ms()
        for replica in list(self._replicas):
            for path in replica.log.retire_segments(wall_ms, replica.state.high_watermark):
                self.remove_later(path, replica.log.config.file_delete_delay_ms / 1000)

    def _remove(self, path: str) -> None:
        del self._doomed[path]
        task = self._loop.create_task(self._machine.threads.run(self._machine.disk.remove_tree, path))
        self._tasks.append(task)
        task.add_done_callback(self._tasks.remove)
