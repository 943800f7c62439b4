"""The way out of a connection: bytes and file ranges leave in order, and nothing is read before it can be sent.

Responses made of bytes go to the transport. A response with records goes out beside it, by sendfile, as long as the
transport has nothing in line (`machine.zero_copy`); at the first short write the next piece is handed to the
transport, and its `resume_writing` continues here. So a slow reader costs one piece of memory, not a response.
This is the hot path of every fetch; `bench micro` guards it.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from broker_impl.machine.disk import File
from broker_impl.machine.zero_copy import DirectSocket, direct_socket
from broker_impl.storage.log import LogSlice

PIECE = 128 * 1024
SMALL_RANGE = 16 * 1024

Part = bytes | LogSlice


class FileEnded(Exception):
    """The file is shorter than what was promised to the client: the connection cannot be kept."""


class Outlet:
    """Invariant: while `_parts` is not empty, the transport is either draining or being pumped."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(high=0)
        self._direct: DirectSocket | None = None
        self._asked = False
        self._parts: deque[bytes | memoryview | _Range] = deque()
        self._ranges = 0
        self.backlog = 0

    def send(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if not isinstance(part, LogSlice):
                self._parts.append(part)
                self.backlog += len(part)
            elif part.file is not None and part.size:
                self._take_range(part.file, part.position, part.size)
        self.pump()

    def pump(self) -> None:
        """Sends what can be sent now. Called by `send` and when the transport has drained."""
        while self._parts and self._transport.get_write_buffer_size() == 0:
            if not self._ranges:
                self._write_all()
                return
            part = self._parts[0]
            if isinstance(part, _Range):
                self._send_range(part)
            else:
                self._send_bytes(part)

    def close(self) -> None:
        self._parts.clear()
        self._ranges = self.backlog = 0
        if self._direct is not None:
            self._direct.close()
            self._direct = None

    def _take_range(self, file: File, position: int, size: int) -> None:
        """A few records are cheaper read and sent in one write with what stands around them."""
        self.backlog += size
        if size > SMALL_RANGE:
            self._parts.append(_Range(file, position, size))
            self._ranges += 1
            return
        data = file.pread(size, position)
        if len(data) < size:
            raise FileEnded(file.path)
        self._parts.append(data)

    def _write_all(self) -> None:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)  # type: ignore[arg-type]
        self._parts.clear()
        self.backlog = 0
        self._transport.write(data)  # type: ignore[arg-type]

    def _send_bytes(self, data: bytes | memoryview) -> None:
        direct = self._socket()
        sent = direct.send(data) if direct is not None else 0
        self.backlog -= len(data)
        self._parts.popleft()
        if sent < len(data):
            self._transport.write(memoryview(data)[sent:])

    def _send_range(self, part: "_Range") -> None:
        direct = self._socket()
        descriptor = part.file.fileno()
        if direct is not None and descriptor is not None:
            sent = direct.send_file(descriptor, part.position, part.size)
            if sent is None:
                raise FileEnded(part.file.path)
            self._advance(part, sent)
            if sent:
                return
        piece = part.file.pread(min(PIECE, part.size), part.position)
        if not piece:
            raise FileEnded(part.file.path)
        self._advance(part, len(piece))
        self._transport.write(piece)

    def _advance(self, part: "_Range", count: int) -> None:
        part.position += count
        part.size -= count
        self.backlog -= count
        if part.size == 0:
            self._parts.popleft()
            self._ranges -= 1

    def _socket(self) -> DirectSocket | None:
        if not self._asked:
            self._asked = True
            self._direct = direct_socket(self._transport)
        return self._direct


class _Range:
    __slots__ = ("file", "position", "size")

    def __init__(self, file: File, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size
