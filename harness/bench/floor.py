"""The floor: what receiving, checking and storing the same bytes costs on a plain uvloop connection.

It cuts frames, finds the batch, checks its CRC-32C, appends it to a file and sends an answer of a few bytes. No partition, no
offsets, no index, no replication, no error path: nothing that a broker must have. How near a broker comes to it says what
those cost.

    python -m harness.bench.floor FILE        prints the port it listens on
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from typing import cast

import uvloop
from crc32c import crc32c

from harness.bench.frames import batch_in, produce_answer
from harness.systems.free_ports import LOOPBACK

TOPIC = "floor"
BUFFER = 1 << 20
_CRC_AT, _CHECKED_FROM = 17, 21
_CRC = struct.Struct(">I")


class FloorConnection(asyncio.BufferedProtocol):
    """Invariant: `_view[_start:_end]` is what was received and not yet stored; every frame is smaller than the buffer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._view = memoryview(bytearray(BUFFER))
        self._start = self._end = 0
        self._answer = produce_answer(TOPIC, 0)
        self._refusal = produce_answer(TOPIC, 0, error=2)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        answers = []
        while self._end - self._start >= 4:
            begin = self._start + 4
            stop = begin + int.from_bytes(self._view[self._start : begin], "big")
            if stop > self._end:
                break
            answers.append(self._store(self._view[begin:stop]))
            self._start = stop
        if answers:
            self._transport.write(b"".join(answers))
        self._make_room()

    def _store(self, frame: memoryview) -> bytes:
        batch = batch_in(frame)
        if crc32c(batch[_CHECKED_FROM:]) != _CRC.unpack_from(batch, _CRC_AT)[0]:
            return self._refusal
        os.write(self._descriptor, batch)
        return self._answer

    def _make_room(self) -> None:
        left = self._end - self._start
        if not left:
            self._start = self._end = 0
        elif self._end == len(self._view) or self._start > len(self._view) // 2:
            self._view[:left] = bytes(self._view[self._start : self._end])
            self._start, self._end = 0, left


async def serve(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    server = await asyncio.get_running_loop().create_server(lambda: FloorConnection(descriptor), LOOPBACK, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
