"""Connections over real sockets: order, limits, and who is touched when one of them misbehaves."""

import asyncio
import io
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvloop

from broker_impl.machine.disk import RealDisk
from broker_impl.machine.journal import Journal
from broker_impl.network import server as server_module
from broker_impl.network.connection import INITIAL_BUFFER, ROOMY_BUFFER, Connection, Exchange
from broker_impl.network.outlet import SMALL_RANGE
from broker_impl.network.server import Limits, Server
from broker_impl.storage.log import LogSlice

DEADLINE_S = 60.0
LIMITS = Limits(connections=100, request_bytes=1 << 20, queued_bytes=8 << 20, owed_answers=8, idle_s=600.0)


def frame(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Recorder:
    """Serves frames by keeping them; a test answers when it likes."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, Exchange]] = []
        self.arrived = asyncio.Event()

    def serve(self, view: memoryview, exchange: Exchange) -> bool:
        if bytes(view).startswith(b"silent"):
            return False
        self.waiting.append((bytes(view), exchange))
        self.arrived.set()
        return True

    async def until(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while len(self.waiting) < count:
                self.arrived.clear()
                await self.arrived.wait()

    def answer_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for payload, exchange in waiting:
            exchange.reply([frame(payload)])


def echo(view: memoryview, exchange: Exchange) -> bool:
    exchange.reply([frame(bytes(view))])
    return True


@asynccontextmanager
async def serving(serve: Callable[[memoryview, Exchange], bool], limits: Limits = LIMITS) -> AsyncIterator[tuple[Server, int]]:
    server = Server(asyncio.get_running_loop(), limits, serve, Journal(1, io.StringIO()))
    port = await server.listen("127.0.0.1", 0)
    try:
        yield server, port
    finally:
        await server.close()


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(DEADLINE_S):
        size = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(size)


async def ended(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(DEADLINE_S):
        try:
            return await reader.read(1) == b""
        except ConnectionError:
            return True


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await asyncio.sleep(0.005)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On the loop of production and on the plain one."""
    for loop_factory in (uvloop.new_event_loop, asyncio.new_event_loop):
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(scenario())


def test_answers_leave_in_the_order_of_the_requests_whichever_is_ready_first() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with serving(recorder.serve) as (_server, port):
            reader, writer = await connect(port)
            writer.write(frame(b"first---") + frame(b"second--"))
            await recorder.until(2)
            recorder.waiting[1][1].reply([frame(b"B")])
            recorder.waiting[0][1].reply([frame(b"A")])
            assert [await read_frame(reader), await read_frame(reader)] == [b"A", b"B"]
            writer.close()

    run(scenario)


def test_a_request_without_an_answer_gives_up_its_place() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with serving(recorder.serve) as (_server, port):
            reader, writer = await connect(port)
            writer.write(frame(b"silent--") + frame(b"loud----"))
            await recorder.until(1)
            recorder.answer_all()
            assert await read_frame(reader) == b"loud----"
            writer.close()

    run(scenario)


def test_a_frame_may_arrive_byte_by_byte() -> None:
    async def scenario() -> None:
        async with serving(echo) as (_server, port):
            reader, writer = await connect(port)
            for byte in frame(b"slow-slow"):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
            assert await read_frame(reader) == b"slow-slow"
            writer.close()

    run(scenario)


def test_frames_larger_than_the_first_buffer_are_served_whole() -> None:
    async def scenario() -> None:
        payload = bytes(range(256)) * 3000
        async with serving(echo) as (server, port):
            reader, writer = await connect(port)
            for _ in range(3):
                writer.write(frame(payload))
                assert await read_frame(reader) == payload
            assert server.reserved_bytes > 0
            writer.close()
            await eventually(lambda: server.reserved_bytes == 0)

    run(scenario)


def test_thousands_of_pipelined_requests_are_answered_in_order() -> None:
    async def scenario() -> None:
        async with serving(echo) as (_server, port):
            reader, writer = await connect(port)
            big = frame(b"x" * 500_000)
            many = [number.to_bytes(8, "big") for number in range(20_000)]
            writer.write(big + b"".join(frame(payload) for payload in many))
            assert await read_frame(reader) == b"x" * 500_000
            for payload in many:
                assert await read_frame(reader) == payload
            writer.close()

    run(scenario)


def test_an_impossible_length_closes_its_connection_and_no_other() -> None:
    async def scenario() -> None:
        async with serving(echo) as (server, port):
            good_reader, good_writer = await connect(port)
            for size in (-1, 3, LIMITS.request_bytes + 1):
                reader, writer = await connect(port)
                writer.write(size.to_bytes(4, "big", signed=True) + b"whatever")
                assert await ended(reader)
                writer.close()
            assert server.refused == 3
            good_writer.write(frame(b"still-ok"))
            assert await read_frame(good_reader) == b"still-ok"
            good_writer.close()

    run(scenario)


def test_a_client_that_is_owed_too_much_is_not_read_from() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with serving(recorder.serve) as (_server, port):
            reader, writer = await connect(port)
            payloads = [b"number%02d" % number for number in range(20)]
            writer.write(b"".join(frame(payload) for payload in payloads))
            await recorder.until(LIMITS.owed_answers)
            await asyncio.sleep(0.05)
            assert len(recorder.waiting) == LIMITS.owed_answers
            answered: list[bytes] = []
            while len(answered) < len(payloads):
                await recorder.until(1)
                count = len(recorder.waiting)
                recorder.answer_all()
                answered += [await read_frame(reader) for _ in range(count)]
            assert answered == payloads
            writer.close()

    run(scenario)


def test_large_requests_wait_for_memory_and_are_served_in_turn() -> None:
    async def scenario() -> None:
        limits = Limits(connections=100, request_bytes=1 << 20, queued_bytes=1 << 20, owed_answers=8, idle_s=600.0)
        payload = b"y" * 700_000
        async with serving(echo, limits) as (server, port):
            clients = [await connect(port) for _ in range(4)]
            for _reader, writer in clients:
                writer.write(frame(payload))
            for reader, writer in clients:
                assert await read_frame(reader) == payload
                assert server.reserved_bytes <= limits.queued_bytes
                writer.close()

    run(scenario)


def test_idle_connections_are_closed_and_waiting_ones_are_not() -> None:
    async def scenario() -> None:
        limits = Limits(connections=100, request_bytes=1 << 20, queued_bytes=8 << 20, owed_answers=8, idle_s=0.2)
        recorder = Recorder()
        async with serving(recorder.serve, limits) as (_server, port):
            idle_reader, idle_writer = await connect(port)
            waiting_reader, waiting_writer = await connect(port)
            waiting_writer.write(frame(b"long-poll"))
            await recorder.until(1)
            assert await ended(idle_reader)
            recorder.answer_all()
            assert await read_frame(waiting_reader) == b"long-poll"
            idle_writer.close()
            waiting_writer.close()

    run(scenario)


def test_connections_past_the_limit_are_refused() -> None:
    async def scenario() -> None:
        limits = Limits(connections=1, request_bytes=1 << 20, queued_bytes=8 << 20, owed_answers=8, idle_s=600.0)
        async with serving(echo, limits) as (_server, port):
            first_reader, first_writer = await connect(port)
            first_writer.write(frame(b"admitted"))
            assert await read_frame(first_reader) == b"admitted"
            second_reader, second_writer = await connect(port)
            assert await ended(second_reader)
            first_writer.close()
            second_writer.close()

    run(scenario)


def test_records_go_from_the_file_to_a_slow_reader_whole_and_in_order(tmp_path: object) -> None:
    async def scenario() -> None:
        content = b"".join(number.to_bytes(8, "big") for number in range(1_000_000))
        file = RealDisk().open(f"{tmp_path}/segment", create=True)
        file.pwrite(content, 0)

        def serve(view: memoryview, exchange: Exchange) -> bool:
            size = len(content)
            exchange.reply([(size + 4).to_bytes(4, "big") + b"ab", LogSlice(file, 0, size), b"yz"])
            return True

        async with serving(serve) as (_server, port):
            client = socket.create_connection(("127.0.0.1", port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(client, frame(b"fetch-it") * 2)
            expected = ((len(content) + 4).to_bytes(4, "big") + b"ab" + content + b"yz") * 2
            received = bytearray()
            async with asyncio.timeout(DEADLINE_S):
                while len(received) < len(expected):
                    received += await loop.sock_recv(client, 1 << 20)
            assert received == expected
            client.close()
        file.close()

    run(scenario)


def test_small_and_large_stretches_of_a_file_leave_in_the_order_given(tmp_path: object) -> None:
    async def scenario() -> None:
        content = bytes(range(256)) * 1024
        file = RealDisk().open(f"{tmp_path}/segment", create=True)
        file.pwrite(content, 0)
        sizes = [1, SMALL_RANGE, SMALL_RANGE + 1, 100, 200_000, 0, 7]

        def serve(view: memoryview, exchange: Exchange) -> bool:
            exchange.reply([sum(sizes).to_bytes(4, "big"), *(LogSlice(file, 3, size) for size in sizes)])
            return True

        async with serving(serve) as (_server, port):
            reader, writer = await connect(port)
            writer.write(frame(b"fetch-it") * 3)
            for _ in range(3):
                assert await read_frame(reader) == b"".join(content[3 : 3 + size] for size in sizes)
            writer.close()
        file.close()

    run(scenario)


def test_a_file_that_ends_early_ends_the_connection(tmp_path: object) -> None:
    async def scenario() -> None:
        file = RealDisk().open(f"{tmp_path}/segment", create=True)
        file.pwrite(b"short", 0)

        def serve(view: memoryview, exchange: Exchange) -> bool:
            exchange.reply([(1000).to_bytes(4, "big"), LogSlice(file, 0, 1000)])
            return True

        async with serving(serve) as (server, port):
            reader, writer = await connect(port)
            writer.write(frame(b"fetch-it"))
            async with asyncio.timeout(DEADLINE_S):
                with suppress(ConnectionError):
                    assert len(await reader.read(-1)) < 1004
            assert server.refused == 1
            writer.close()
        file.close()

    run(scenario)


def test_a_reply_to_a_client_that_left_does_nothing() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with serving(recorder.serve) as (server, port):
            _reader, writer = await connect(port)
            writer.write(frame(b"leaving-"))
            await recorder.until(1)
            writer.transport.abort()
            await eventually(lambda: server.connection_count == 0)
            exchange = recorder.waiting[0][1]
            assert exchange.closed
            exchange.reply([frame(b"too late")])

    run(scenario)


def test_a_promised_length_alone_takes_no_memory() -> None:
    async def scenario() -> None:
        async with serving(echo) as (server, port):
            _reader, writer = await connect(port)
            writer.write((1 << 20).to_bytes(4, "big") + b"and no more")
            await eventually(lambda: server.reserved_bytes > 1 << 20)
            (connection,) = server._connections
            assert len(connection._view) == INITIAL_BUFFER
            writer.close()

    run(scenario)


def test_who_stops_in_the_middle_of_a_request_gives_way_to_who_waits_for_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SWEEP_S", 0.05)
    limits = Limits(connections=10, request_bytes=1 << 20, queued_bytes=3 << 19, owed_answers=8, idle_s=600.0)

    async def scenario() -> None:
        async with serving(echo, limits) as (server, port):
            stalled_reader, stalled = await connect(port)
            stalled.write((1 << 20).to_bytes(4, "big") + b"and no more")
            await eventually(lambda: server.reserved_bytes > 1 << 20)
            reader, writer = await connect(port)
            writer.write(frame(b"x" * (1 << 20)))
            assert await read_frame(reader) == b"x" * (1 << 20)
            assert await ended(stalled_reader)
            writer.close()
            stalled.close()

    run(scenario)


@pytest.mark.parametrize(("queued_bytes", "granted"), [(8 << 20, ROOMY_BUFFER), (ROOMY_BUFFER - 1, 0)])
def test_a_connection_that_fills_its_buffer_gets_a_larger_one_where_there_is_memory(queued_bytes: int, granted: int) -> None:
    limits = Limits(connections=10, request_bytes=1 << 20, queued_bytes=queued_bytes, owed_answers=100_000, idle_s=600.0)

    async def scenario() -> None:
        async with serving(echo, limits) as (server, port):
            reader, writer = await connect(port)
            for _ in range(20):
                writer.write(frame(b"x" * 1000) * 500)
                for _ in range(500):
                    assert len(await read_frame(reader)) == 1000
            assert server.reserved_bytes == granted
            writer.close()

    run(scenario)


def test_who_has_more_to_send_is_read_from_again_only_in_the_next_turn_of_the_loop() -> None:
    class Transport(asyncio.Transport):
        reading = True

        def pause_reading(self) -> None:
            self.reading = False

        def resume_reading(self) -> None:
            self.reading = True

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            return

    async def scenario() -> None:
        transport = Transport()
        connection = Connection(Server(asyncio.get_running_loop(), LIMITS, lambda _view, _exchange: False, Journal(1, io.StringIO())))
        connection.connection_made(transport)
        whole = connection.get_buffer(-1)
        whole[:] = frame(b"x" * (len(whole) // 2 - 4)) * 2
        connection.buffer_updated(len(whole))
        assert not transport.reading
        await asyncio.sleep(0)
        assert transport.reading
        connection.get_buffer(-1)[:12] = frame(b"only-one")
        connection.buffer_updated(12)
        assert transport.reading

    run(scenario)


def test_answers_that_are_ready_in_one_turn_of_the_loop_leave_in_one_write() -> None:
    class Transport(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.written: list[bytes] = []

        def write(self, data: Any) -> None:
            self.written.append(bytes(data))

        def get_write_buffer_size(self) -> int:
            return 0

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            return

    async def scenario() -> None:
        transport, recorder = Transport(), Recorder()
        connection = Connection(Server(asyncio.get_running_loop(), LIMITS, recorder.serve, Journal(1, io.StringIO())))
        connection.connection_made(transport)
        requests = frame(b"first---") + frame(b"second--") + frame(b"third---")
        connection.get_buffer(-1)[: len(requests)] = requests
        connection.buffer_updated(len(requests))
        recorder.answer_all()
        assert transport.written == []
        await asyncio.sleep(0)
        assert transport.written == [requests]

    run(scenario)


def test_a_request_is_told_when_its_client_is_gone() -> None:
    async def scenario() -> None:
        recorder, lost = Recorder(), asyncio.Event()
        async with serving(recorder.serve) as (_server, port):
            _reader, writer = await connect(port)
            writer.write(frame(b"parked--"))
            await recorder.until(1)
            recorder.waiting[0][1].when_lost(lost.set)
            writer.close()
            async with asyncio.timeout(DEADLINE_S):
                await lost.wait()

    run(scenario)
