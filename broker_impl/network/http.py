"""A page for people and monitors: /health as JSON, /metrics for Prometheus. GET only, one answer a connection."""

import asyncio
from collections.abc import Callable
from typing import cast

LARGEST_REQUEST = 8192

Page = Callable[[], tuple[str, bytes]]
"""Makes a page: its content type and its bytes."""


class HttpServer:
    def __init__(self, pages: dict[str, Page]) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None

    async def listen(self, loop: asyncio.AbstractEventLoop, host: str, port: int) -> None:
        self._server = await loop.create_server(lambda: _Visitor(self._pages), host, port)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class _Visitor(asyncio.Protocol):
    def __init__(self, pages: dict[str, Page]) -> None:
        self._pages = pages
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer()
        elif len(self._received) > LARGEST_REQUEST:
            self._transport.abort()

    def _answer(self) -> None:
        method, _space, rest = self._received.partition(b" ")
        path = rest.split(b" ", 1)[0].split(b"?", 1)[0].decode("latin-1")
        page = self._pages.get(path)
        if method != b"GET":
            self._send("405 Method Not Allowed", "text/plain", b"only GET is served\n")
        elif page is None:
            self._send("404 Not Found", "text/plain", f"there are {', '.join(self._pages)}\n".encode())
        else:
            self._send("200 OK", *page())

    def _send(self, status: str, content_type: str, body: bytes) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self._transport.write(head.encode() + body)
        self._transport.close()
