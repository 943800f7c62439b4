"""Bytes from a segment file to a socket without passing through Python: sendfile beside the loop's own transport.

uvloop's transports have no sendfile. While a transport's write buffer is empty, nothing stands in line, so we may
write to its socket ourselves through a duplicate of the descriptor. Whoever calls must stop at the first short
write and hand the next piece to the transport, which then tells when the socket is writable again. A transport
without a real socket (a simulated one, TLS) gives None, and the caller reads and writes.
"""

import asyncio
import os
import socket
from collections.abc import Sequence


class DirectSocket:
    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=os.dup(descriptor))

    def send(self, data: bytes | memoryview) -> int:
        """Says that more follows: headers leave in one packet with the records behind them."""
        try:
            return self._socket.send(data, socket.MSG_MORE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def send_file(self, descriptor: int, position: int, count: int) -> int | None:
        """How many bytes went out; None where the file ended early."""
        try:
            sent = os.sendfile(self._socket.fileno(), descriptor, position, count)
        except BlockingIOError:
            return 0
        return sent or None

    def close(self) -> None:
        self._socket.close()


def direct_socket(transport: asyncio.BaseTransport) -> DirectSocket | None:
    if transport.get_extra_info("sslcontext") is not None:
        return None
    raw = transport.get_extra_info("socket")
    return DirectSocket(raw.fileno()) if raw is not None else None


def tune(transport: asyncio.BaseTransport, user_timeout_ms: int) -> None:
    """No Nagle delay; and a peer that acknowledges nothing for this long is gone, whatever TCP's back-off thinks."""
    raw = transport.get_extra_info("socket")
    if raw is None or raw.family not in (socket.AF_INET, socket.AF_INET6):
        return
    for level, option, value in _options(user_timeout_ms):
        raw.setsockopt(level, option, value)


def _options(user_timeout_ms: int) -> Sequence[tuple[int, int, int]]:
    return (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, user_timeout_ms),
    )
