"""Links to other brokers: every callback exactly once, and a connection that stalls is remade."""

import asyncio
from collections.abc import Awaitable, Callable

from broker_impl.network.link import Link

DEADLINE_S = 60.0
KEY = 20_001


class Peer:
    """The other side: keeps requests, answers when told to."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, bytes, asyncio.StreamWriter]] = []
        self.connections = 0
        self.arrived = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = await reader.readexactly(size)
                self.requests.append((int.from_bytes(frame[4:8], "big"), frame[-5:], writer))
                self.arrived.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.requests) < count:
                self.arrived.clear()
                await self.arrived.wait()

    def answer(self, index: int, body: bytes) -> None:
        correlation, _payload, writer = self.requests[index]
        writer.write((4 + len(body)).to_bytes(4, "big") + correlation.to_bytes(4, "big") + body)


def run(scenario: Callable[[Peer, Link], Awaitable[None]]) -> None:
    async def main() -> None:
        peer = Peer()
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        link = Link(asyncio.get_running_loop(), "127.0.0.1", server.sockets[0].getsockname()[1], "test", 1 << 20)
        try:
            await scenario(peer, link)
        finally:
            link.close()
            server.close()

    asyncio.run(main())


def test_answers_find_their_requests_by_correlation_id() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        assert await link.connection()
        first = asyncio.ensure_future(link.request(KEY, 0, b"first", DEADLINE_S))
        second = asyncio.ensure_future(link.request(KEY, 0, b"secnd", DEADLINE_S))
        await peer.until(2)
        peer.answer(1, b"two")
        peer.answer(0, b"one")
        one, two = await first, await second
        assert one is not None and two is not None
        assert (one[4:], two[4:]) == (b"one", b"two")

    run(scenario)


def test_large_answers_arrive_whole() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        asked = asyncio.ensure_future(link.request(KEY, 0, b"large", DEADLINE_S))
        await peer.until(1)
        peer.answer(0, b"z" * 500_000)
        answer = await asked
        assert answer is not None and answer[4:] == b"z" * 500_000

    run(scenario)


def test_a_request_without_an_answer_ends_its_connection_and_the_next_one_is_new() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        assert await link.request(KEY, 0, b"stall", 0.05) is None
        assert not link.connected
        asked = asyncio.ensure_future(link.request(KEY, 0, b"again", DEADLINE_S))
        await peer.until(2)
        peer.answer(1, b"ok")
        answer = await asked
        assert answer is not None and answer[4:] == b"ok"
        assert peer.connections == 2

    run(scenario)


def test_every_callback_is_called_once_when_the_connection_is_dropped() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        assert await link.connection()
        calls: list[memoryview | None] = []
        for number in range(3):
            link.call(KEY, 0, b"call%d" % number, DEADLINE_S, calls.append)
        await peer.until(3)
        link.drop()
        link.drop()
        async with asyncio.timeout(DEADLINE_S):
            while len(calls) < 3:
                await asyncio.sleep(0)
        assert calls == [None, None, None]

    run(scenario)


def test_an_answer_of_impossible_size_ends_the_connection() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        asked = asyncio.ensure_future(link.request(KEY, 0, b"large", DEADLINE_S))
        await peer.until(1)
        peer.requests[0][2].write((1 << 30).to_bytes(4, "big"))
        assert await asked is None

    run(scenario)


def test_one_way_messages_are_dropped_while_there_is_no_connection() -> None:
    async def scenario(peer: Peer, link: Link) -> None:
        assert not link.post(KEY, 0, b"early")
        assert await link.connection()
        assert link.post(KEY, 0, b"there")
        await peer.until(1)
        assert peer.requests[0][1] == b"there"

    run(scenario)


def test_nobody_listening_is_no_answer() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        link = Link(asyncio.get_running_loop(), "127.0.0.1", port, "test", 1 << 20)
        assert await link.request(KEY, 0, b"hello", DEADLINE_S) is None
        link.close()

    asyncio.run(main())
