"""A whole broker on a disk that forgets what was not synced: with flush.messages=1 an acknowledgement survives power loss.

The twin runs the same with an fdatasync that does nothing, and must lose: else the test would prove nothing.
"""

import asyncio
import io
import random
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from broker_impl.broker import Broker
from broker_impl.config import load_config
from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import Inline
from broker_impl.protocol.fetch import FetchPartition, FetchRequest, FetchTopic, encode_fetch_request, parse_fetch_response
from broker_impl.protocol.frames import frame_request, parse_response_header
from broker_impl.protocol.messages.create_topics import KEY as CREATE_TOPICS
from broker_impl.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from broker_impl.protocol.produce import ProduceRequest, encode_produce_request, parse_produce_response
from broker_impl.protocol.registry import FETCH, PRODUCE
from broker_impl.protocol.schema import encode
from broker_impl.storage.batch import iterate
from broker_impl.storage.records import Record, build_batch, records
from tests.broker_impl.forgetful_disk import ForgetfulDisk

DEADLINE_S = 60.0


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, key: int, version: int, body: bytes) -> tuple[memoryview, int]:
        self._writer.write(frame_request(key, version, 1, "test", body))
        async with asyncio.timeout(DEADLINE_S):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            frame = memoryview(await self._reader.readexactly(size))
        return frame, parse_response_header(frame, key, version)[1]

    async def create_topic(self, name: str, configs: dict[str, str]) -> None:
        settings = [CreatableTopicConfig(key, value) for key, value in configs.items()]
        request = CreateTopicsRequest([CreatableTopic(name, 1, 1, [], settings)])
        await self.ask(CREATE_TOPICS, 7, encode(request, 7, True))

    async def produce(self, topic: str, value: bytes, acks: int) -> int | None:
        """The offset acknowledged; None where it was refused."""
        request = ProduceRequest(None, acks, 5000, [(topic, [(0, memoryview(build_batch([Record(value, timestamp=clock.wall_ms())])))])])
        frame, position = await self.ask(PRODUCE, 9, encode_produce_request(9, request))
        result = parse_produce_response(frame, position, 9).topics[0][1][0]
        return result.base_offset if result.error_code == 0 else None

    async def read_all(self, topic: str) -> dict[int, bytes]:
        """A fetch ends at the end of a segment, so it takes several."""
        found: dict[int, bytes] = {}
        while more := await self._read(topic, max(found, default=-1) + 1):
            found |= more
        return found

    async def _read(self, topic: str, offset: int) -> dict[int, bytes]:
        request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic, None, [FetchPartition(0, -1, offset, -1, 0, 1 << 20)])])
        frame, position = await self.ask(FETCH, 12, encode_fetch_request(12, request))
        fetched = parse_fetch_response(frame, position, 12).topics[0].partitions[0]
        view = fetched.records
        if not isinstance(view, memoryview):
            return {}
        batches = [view[start : start + header.size] for start, header in iterate(view)]
        return {record.offset: record.value or b"" for batch in batches for record in records(batch)}


def run_broker(disk: ForgetfulDisk, seed: int, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Starts a broker on the disk, does the work, and drops the broker as a power cut does: nothing is closed."""

    async def main() -> None:
        broker = make_broker(disk, seed)
        port = await broker.server.listen("127.0.0.1", 0)
        broker.quorum.start()
        session = asyncio.create_task(broker.session.run())
        async with asyncio.timeout(DEADLINE_S):
            while not is_ready(broker):
                await asyncio.sleep(0.005)
        await work(Client(*await asyncio.open_connection("127.0.0.1", port)))
        session.cancel()
        await broker.server.close()
        await broker.quorum.close()

    run(main())


def make_broker(disk: ForgetfulDisk, seed: int) -> Broker:
    config = load_config({"node.id": 1, "listeners": "127.0.0.1:0", "log.dirs": "/disk/data"})
    machine = Machine(disk, clock.wall_ms, random.Random(seed), Inline(), Journal(1, io.StringIO()))
    return Broker(asyncio.get_running_loop(), config, machine)


def run(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def is_ready(broker: Broker) -> bool:
    """It leads, and what recovery found is flushed and so committed again."""
    committed = all(replica.state.high_watermark == replica.log.end_offset for replica in broker.replicas)
    return broker.session.state == "running" and committed


def lost_after_power_cut(seed: int, acks: int, *, sync_works: bool) -> set[int]:
    """Offsets acknowledged before the cut that are not there, or not the same, after it."""
    disk = ForgetfulDisk()
    acknowledged: dict[int, bytes] = {}
    found: dict[int, bytes] = {}

    async def write(client: Client) -> None:
        await client.create_topic("t", {"flush.messages": "1", "segment.bytes": "4096"})
        disk.sync_works = sync_works
        for number in range(60):
            value = b"value-%d" % number * 20
            offset = await client.produce("t", value, acks)
            if offset is not None:
                acknowledged[offset] = value
        assert len(acknowledged) == 60

    async def read(client: Client) -> None:
        found.update(await client.read_all("t"))

    run_broker(disk, seed, write)
    disk.crash(random.Random(seed))
    disk.sync_works = True
    run_broker(disk, seed + 1, read)
    return {offset for offset, value in acknowledged.items() if found.get(offset) != value}


def test_what_was_acknowledged_survives_power_loss() -> None:
    for seed in range(4):
        assert lost_after_power_cut(seed, acks=-1, sync_works=True) == set()
        assert lost_after_power_cut(seed, acks=1, sync_works=True) == set()


def test_the_same_is_lost_where_fdatasync_does_nothing() -> None:
    assert any(lost_after_power_cut(seed, acks=-1, sync_works=False) for seed in range(4))


def test_a_broker_that_stops_before_it_knows_what_it_holds_calls_the_stop_clean_only_with_everything_on_the_disk() -> None:
    written: dict[int, bytes] = {}
    found: dict[int, bytes] = {}

    async def write(client: Client) -> None:
        await client.create_topic("t", {"segment.bytes": "4096"})
        for number in range(60):
            value = b"value-%d" % number * 20
            offset = await client.produce("t", value, 1)
            assert offset is not None
            written[offset] = value

    async def stop_early() -> None:
        broker = make_broker(disk, 2)
        broker.session.epoch = 7
        await broker.stop()

    async def read(client: Client) -> None:
        found.update(await client.read_all("t"))

    disk = ForgetfulDisk()
    run_broker(disk, 1, write)
    disk.kill()
    run(stop_early())
    assert disk.exists("/disk/data/.kafka_cleanshutdown")
    disk.crash(random.Random(3))
    run_broker(disk, 4, read)
    assert found == written
