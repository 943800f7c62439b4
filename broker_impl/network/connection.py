"""One client's connection: frames are cut out of a buffer of its own and served at once, answers leave in order.

A request is served the moment its frame is complete, also while earlier ones still wait (an acks=all produce, a
long poll): the order of effects is the order of arrival, and an `Exchange` a request keeps the order of answers.
The frame is a view into the receive buffer: a handler that needs it later copies. Back-pressure is not reading:
when too many answers are owed, too many bytes wait to go out, or the server's memory is used up.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from broker_impl.machine.zero_copy import tune
from broker_impl.network.outlet import FileEnded, Outlet, Part

if TYPE_CHECKING:
    from broker_impl.network.server import Server

INITIAL_BUFFER = 64 * 1024
ROOMY_BUFFER = 1 << 20
LARGEST_BACKLOG = 4 << 20
SMALLEST_FRAME = 8


class Exchange:
    """A request's place in the line of answers. `reply` may be called once, at any time, also after the connection is gone."""

    __slots__ = ("_connection", "_on_lost", "_parts")

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._on_lost: Callable[[], object] | None = None
        self._parts: Sequence[Part] | None = None

    @property
    def answered(self) -> bool:
        return self._parts is not None

    @property
    def parts(self) -> Sequence[Part]:
        assert self._parts is not None
        return self._parts

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def reply(self, parts: Sequence[Part]) -> None:
        assert self._parts is None, "a request is answered once"
        self._parts = parts
        self._connection.settle()

    def when_lost(self, forget: Callable[[], object]) -> None:
        """Calls it if the connection ends before the answer: a request parked for hours would outlive thousands of clients."""
        self._on_lost = forget

    def lose(self) -> None:
        if self._on_lost is not None and self._parts is None:
            self._on_lost()

    def refuse(self, why: str) -> None:
        """The protocol has no answer to this: the connection is closed."""
        self._connection.abort(why)


class Connection(asyncio.BufferedProtocol):
    def __init__(self, server: "Server") -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._outlet: Outlet
        self._replace_buffer(INITIAL_BUFFER)
        self._start = 0
        self._end = 0
        self._reserved = 0
        self._owed: deque[Exchange] = deque()
        self._serving = False
        self._settling = False
        self._paused = False
        self.closed = False
        self.last_active = 0.0
        self.peer = ""

    # --- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.peer = str(transport.get_extra_info("peername"))
        if not self._server.admit(self):
            self.closed = True
            self._transport.abort()
            return
        tune(self._transport, self._server.user_timeout_ms)
        self._outlet = Outlet(self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        self.last_active = self._server.now()
        more_to_come = self._end == len(self._view)
        self._serve_frames()
        if more_to_come:
            self._widen()
            self._let_others_go_first()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.closed and not hasattr(self, "_outlet"):
            return
        self.closed = True
        self._outlet.close()
        self._server.release(self, self._reserved)
        self._reserved = 0
        self._view = memoryview(b"")  # given back now, not when the garbage collector comes by
        owed, self._owed = self._owed, deque()
        for exchange in owed:
            exchange.lose()

    def pause_writing(self) -> None:
        return None

    def resume_writing(self) -> None:
        if self.closed:
            return
        self._push(())
        self._maybe_read_on()

    # --- called by the server and by handlers

    @property
    def idle(self) -> bool:
        return not self._owed and not self._outlet.backlog

    @property
    def holds_memory_unused(self) -> bool:
        """It was given memory for a request and may send the rest of it."""
        return self._reserved > 0 and self._start < self._end and not self._paused

    def settle(self) -> None:
        """Soon every answer whose turn has come is sent: a high watermark that moves ends many requests at once, and their answers
        leave in one write, after whoever moved it was served."""
        if not self._serving and not self._settling:
            self._settling = True
            self._server.soon(self._settle)

    def abort(self, why: str) -> None:
        if self.closed:
            return
        self._server.note_refusal(self, why)
        self.closed = True
        self._transport.abort()

    def close(self) -> None:
        if not self.closed:
            self._transport.close()

    def memory_granted(self, size: int) -> None:
        """The server has room for the frame that did not fit before."""
        self._reserved += size
        self._extend()
        self._paused = False
        self._transport.resume_reading()

    def shrink(self) -> None:
        """An idle connection gives back the buffer that a large request needed."""
        if self._end == 0 and len(self._view) > INITIAL_BUFFER:
            self._replace_buffer(INITIAL_BUFFER)
            self._server.give_back(self._reserved)
            self._reserved = 0

    # --- inside

    def _settle(self) -> None:
        self._settling = False
        if not self.closed:
            self._send_answers()
            self._maybe_read_on()

    def _serve_frames(self) -> None:
        self._serving = True
        try:
            while not self.closed and self._end - self._start >= 4:
                if self._is_full():
                    self._send_answers()
                    if self._is_full():
                        self._pause()
                        break
                size = int.from_bytes(self._view[self._start : self._start + 4], "big", signed=True)
                if not SMALLEST_FRAME <= size <= self._server.request_limit:
                    self.abort(f"a frame of {size} bytes")
                    break
                if self._end - self._start < 4 + size:
                    self._make_room(4 + size)
                    break
                begin = self._start + 4
                self._start = begin + size
                self._serve_frame(self._view[begin : self._start])
        finally:
            self._serving = False
        if self.closed:
            return
        if self._start == self._end:
            self._start = self._end = 0
            if self._server.memory_is_short:
                self.shrink()
        elif self._end == len(self._view) and self._start:
            self._compact()
        self._send_answers()
        self._maybe_read_on()

    def _serve_frame(self, frame: memoryview) -> None:
        exchange = Exchange(self)
        self._owed.append(exchange)
        if not self._server.serve(frame, exchange):
            self._owed.pop()

    def _is_full(self) -> bool:
        """Too many answers are owed, or too many bytes wait to go out: read no more for now."""
        return len(self._owed) >= self._server.owed_limit or self._outlet.backlog > LARGEST_BACKLOG

    def _send_answers(self) -> None:
        ready: list[Part] = []
        while self._owed and self._owed[0].answered:
            ready.extend(self._owed.popleft().parts)
        if ready:
            self._push(ready)

    def _push(self, parts: Sequence[Part]) -> None:
        try:
            if parts:
                self._outlet.send(parts)
            else:
                self._outlet.pump()
        except (OSError, FileEnded) as problem:
            self.abort(str(problem))

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _maybe_read_on(self) -> None:
        if not self._paused or self.closed or self._server.is_waiting(self):
            return
        if not self._is_full():
            self._paused = False
            self._serve_frames()
            if not self._paused and not self.closed:
                self._transport.resume_reading()

    def _make_room(self, needed: int) -> None:
        if needed <= len(self._view):
            if self._start + needed > len(self._view):
                self._compact()
            return
        more = needed - self._reserved
        if more > 0 and not self._server.reserve(self, more):
            self._pause()
            return
        self._reserved = max(self._reserved, needed)
        self._extend()

    def _extend(self) -> None:
        """Room for what comes next of a frame that is paid for. The buffer doubles as bytes arrive: a length alone costs nothing."""
        if self._end == len(self._view):
            self._grow(min(self._reserved, 2 * len(self._view)))

    def _widen(self) -> None:
        """A connection that fills its buffer has more to send: what is read at once is answered at once, in one write."""
        if self._reserved < ROOMY_BUFFER and not self.closed and self._server.spare(ROOMY_BUFFER - self._reserved):
            self._reserved = ROOMY_BUFFER
            self._grow(ROOMY_BUFFER)

    def _let_others_go_first(self) -> None:
        """Reads on in the next turn. The loop would go on reading from a busy producer, and followers would starve."""
        if not self._paused and not self.closed:
            self._pause()
            self._server.soon(self._maybe_read_on)

    def _grow(self, size: int) -> None:
        kept = bytes(self._view[self._start : self._end])
        self._replace_buffer(size)
        self._view[: len(kept)] = kept
        self._start, self._end = 0, len(kept)

    def _compact(self) -> None:
        length = self._end - self._start
        self._view[:length] = self._view[self._start : self._end]
        self._start, self._end = 0, length

    def _replace_buffer(self, size: int) -> None:
        self._view = memoryview(bytearray(size))
