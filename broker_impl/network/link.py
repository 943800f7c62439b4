"""A connection to another broker, kept as long as it is needed and remade when it fails.

A request is written with a callback that gets the answer's frame (its header first), valid during the call, or None
when there will be none. A request that gets no answer in time ends the whole connection: after a network partition TCP would back off
for many seconds, a new connection works at once. One-way messages are dropped while there is no connection or too
much waits to go out: whoever sends them sends again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from broker_impl.machine.zero_copy import tune
from broker_impl.protocol.frames import frame_request

INITIAL_BUFFER = 64 * 1024
LARGEST_ONE_WAY_BACKLOG = 8 << 20
CONNECT_TIMEOUT_S = 2.0
RETRY_S = 0.1
USER_TIMEOUT_MS = 2000

OnReply = Callable[[memoryview | None], None]


@dataclass(slots=True)
class _Pending:
    on_reply: OnReply
    deadline: asyncio.TimerHandle


class Link:
    """Invariant: every callback is called exactly once, with a frame or with None."""

    def __init__(self, loop: asyncio.AbstractEventLoop, host: str, port: int, client_id: str, largest_reply: int) -> None:
        self._loop = loop
        self.host = host
        self.port = port
        self._client_id = client_id
        self.largest_reply = largest_reply
        self._stream: _Stream | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._pending: dict[int, _Pending] = {}
        self._correlation = 0
        self._closed = False

    @property
    def connected(self) -> bool:
        return self._stream is not None

    def connect(self) -> None:
        """Starts connecting where there is no connection and none under way."""
        if self._stream is None and self._connecting is None and not self._closed and self._loop.time() >= self._not_before:
            self._connecting = self._loop.create_task(self._connect())

    async def connection(self, timeout_s: float | None = None) -> bool:
        """Waits until connected, or until the attempt under way has failed; one that takes too long for the caller goes on."""
        self.connect()
        if self._connecting is not None:
            await asyncio.wait([self._connecting], timeout=timeout_s)
        return self._stream is not None

    def call(self, key: int, version: int, body: bytes, timeout_s: float, on_reply: OnReply) -> None:
        if self._stream is None:
            self.connect()
            self._loop.call_soon(on_reply, None)
            return
        self._correlation = (self._correlation + 1) & 0x7FFFFFFF
        number = self._correlation
        self._pending[number] = _Pending(on_reply, self._loop.call_later(timeout_s, self._timed_out, number))
        self._stream.write(frame_request(key, version, number, self._client_id, body))

    def post(self, key: int, version: int, body: bytes) -> bool:
        """A message without an answer; False where it was dropped."""
        if self._stream is None or self._stream.backlog > LARGEST_ONE_WAY_BACKLOG:
            self.connect()
            return False
        self._stream.write(frame_request(key, version, 0, self._client_id, body))
        return True

    async def request(self, key: int, version: int, body: bytes, timeout_s: float) -> bytes | None:
        """`call` for code that can wait; the answer is a copy."""
        if not await self.connection(timeout_s):
            return None
        answer: asyncio.Future[bytes | None] = self._loop.create_future()

        def settle(frame: memoryview | None) -> None:
            if not answer.done():
                answer.set_result(None if frame is None else bytes(frame))

        self.call(key, version, body, timeout_s, settle)
        return await answer

    def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        self.drop()

    def drop(self) -> None:
        """Ends the connection; every request under way gets None."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.abort()
        pending, self._pending = self._pending, {}
        for request in pending.values():
            request.deadline.cancel()
            self._loop.call_soon(request.on_reply, None)

    def received(self, frame: memoryview) -> None:
        request = self._pending.pop(int.from_bytes(frame[:4], "big"), None)
        if request is None:
            self.drop()
            return
        request.deadline.cancel()
        request.on_reply(frame)

    def lost(self, stream: "_Stream") -> None:
        if self._stream is stream:
            self.drop()

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _transport, stream = await self._loop.create_connection(lambda: _Stream(self), self.host, self.port)
            self._stream = stream
        except OSError:
            self._not_before = self._loop.time() + RETRY_S
        finally:
            self._connecting = None

    def _timed_out(self, number: int) -> None:
        if number in self._pending:
            self.drop()


class _Stream(asyncio.BufferedProtocol):
    """Cuts answers out of the byte stream; each is served from the buffer it arrived in."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._transport: asyncio.Transport
        self._view = memoryview(bytearray(INITIAL_BUFFER))
        self._start = 0
        self._end = 0

    @property
    def backlog(self) -> int:
        return self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def abort(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tune(self._transport, USER_TIMEOUT_MS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._view = memoryview(b"")  # megabytes, which would wait for the garbage collector: transport and stream hold each other
        self._link.lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        while self._end - self._start >= 4:
            size = int.from_bytes(self._view[self._start : self._start + 4], "big", signed=True)
            if not 4 <= size <= self._link.largest_reply:
                self._link.drop()
                return
            if self._end - self._start < 4 + size:
                break
            begin = self._start + 4
            self._start = begin + size
            self._link.received(self._view[begin : self._start])
        self._make_room()

    def _make_room(self) -> None:
        length = self._end - self._start
        if length == 0:
            self._start = self._end = 0
            return
        needed = 4 + int.from_bytes(self._view[self._start : self._start + 4], "big") if length >= 4 else length
        if self._start + max(needed, length + 1) <= len(self._view):
            return
        kept = bytes(self._view[self._start : self._end])
        if needed > len(self._view):
            self._view = memoryview(bytearray(max(needed, 2 * len(self._view))))
        self._view[:length] = kept
        self._start, self._end = 0, length
