"""Group commit: many appends, one fdatasync.

While a log is being flushed on a thread, appends go on and are collected; when the flush ends the next one starts at
once for all of them. So the rate of acknowledged writes is not tied to the rate of the disk, only their delay is.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from broker_impl.machine import Machine
from broker_impl.replication.replica import Replica
from broker_impl.storage.validation import FOREVER

OnFlushed = Callable[[Replica], None]


class Flusher:
    """Invariant: at most one flush a log is under way; whoever asks during it is covered by the next one."""

    def __init__(self, machine: Machine, spawn: Callable[[Coroutine[Any, Any, None]], None], on_flushed: OnFlushed) -> None:
        self._machine = machine
        self._spawn = spawn
        self._on_flushed = on_flushed
        self._running: dict[Replica, bool] = {}
        self.flushes = 0

    def appended(self, replica: Replica) -> None:
        """Flushes if the topic's `flush.messages` are reached."""
        log = replica.log
        if log.config.flush_messages < FOREVER and log.end_offset - log.flushed_offset >= log.config.flush_messages:
            self.flush(replica)

    def flush(self, replica: Replica) -> None:
        if replica in self._running:
            self._running[replica] = True
        else:
            self._running[replica] = False
            self._spawn(self._flush(replica))

    async def _flush(self, replica: Replica) -> None:
        try:
            while replica.log.failed is None:
                self._running[replica] = False
                await self._machine.threads.run(replica.log.flush)
                self.flushes += 1
                self._on_flushed(replica)
                if not self._running[replica]:
                    return
        except OSError as problem:
            self._machine.journal.error("log-offline", topic=replica.topic, part=replica.index, why=f"flush failed: {problem}")
            self._on_flushed(replica)
        finally:
            del self._running[replica]
