"""The listener and what all its connections share: limits, memory, idle time and the dispatcher behind them.

Memory for large requests is taken from one account for all connections; a connection whose next frame does not fit
stops reading and is woken in turn when another gives back. So a thousand clients sending 100 MB each slow down,
and the broker's memory stays where it was set.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker_impl.machine.journal import Journal
from broker_impl.network.connection import Connection, Exchange

SWEEP_S = 5.0

Serve = Callable[[memoryview, Exchange], bool]
"""Serves a frame. False: the request gets no answer (acks=0), its place in the line is given up."""


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int
    request_bytes: int
    queued_bytes: int
    owed_answers: int
    idle_s: float
    user_timeout_ms: int = 30_000


class Server:
    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits, serve: Serve, journal: Journal) -> None:
        self._loop = loop
        self._limits = limits
        self._journal = journal
        self.serve = serve
        self.now = loop.time
        self.soon = loop.call_soon
        self.request_limit = limits.request_bytes
        self.owed_limit = limits.owed_answers
        self.user_timeout_ms = limits.user_timeout_ms
        self._connections: set[Connection] = set()
        self._reserved = 0
        self._waiting: deque[tuple[Connection, int]] = deque()
        self._listener: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self.refused = 0

    async def listen(self, host: str, port: int) -> int:
        """The port listened on (a free one where 0 was asked)."""
        self._listener = await self._loop.create_server(lambda: Connection(self), host, port, backlog=1024)
        self._sweep()
        address = self._listener.sockets[0].getsockname()
        return int(address[1])

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.close()

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def reserved_bytes(self) -> int:
        return self._reserved

    def admit(self, connection: Connection) -> bool:
        if len(self._connections) >= self._limits.connections:
            self.note_refusal(connection, f"more than {self._limits.connections} connections")
            return False
        connection.last_active = self.now()
        self._connections.add(connection)
        return True

    def release(self, connection: Connection, reserved: int) -> None:
        self._connections.discard(connection)
        self._waiting = deque(waiting for waiting in self._waiting if waiting[0] is not connection)
        self.give_back(reserved)

    def reserve(self, connection: Connection, size: int) -> bool:
        if self._reserved + size > self._limits.queued_bytes and self._reserved:
            self._waiting.append((connection, size))
            return False
        self._reserved += size
        return True

    def spare(self, size: int) -> bool:
        """Memory a connection could do without: granted only while nobody waits for what it needs."""
        if self._waiting or self._reserved + size > self._limits.queued_bytes:
            return False
        self._reserved += size
        return True

    def give_back(self, size: int) -> None:
        self._reserved -= size
        assert self._reserved >= 0, "more given back than was reserved"
        while self._waiting and (self._reserved + self._waiting[0][1] <= self._limits.queued_bytes or not self._reserved):
            connection, wanted = self._waiting.popleft()
            self._reserved += wanted
            connection.memory_granted(wanted)

    @property
    def memory_is_short(self) -> bool:
        return bool(self._waiting)

    def is_waiting(self, connection: Connection) -> bool:
        return any(waiting is connection for waiting, _size in self._waiting)

    def note_refusal(self, connection: Connection, why: str) -> None:
        self.refused += 1
        self._journal.warning("connection-refused", peer=connection.peer, why=why)

    def _sweep(self) -> None:
        now = self.now()
        for connection in list(self._connections):
            quiet = now - connection.last_active
            if quiet > self._limits.idle_s and connection.idle:
                connection.close()
            elif quiet > SWEEP_S and self.memory_is_short and connection.holds_memory_unused:
                connection.abort("stopped in the middle of a large request while others wait for its memory")
            elif quiet > SWEEP_S:
                connection.shrink()
        self._sweeper = self._loop.call_later(min(SWEEP_S, self._limits.idle_s), self._sweep)
