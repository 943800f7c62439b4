"""A follower's fetcher against a leader that answers what the test wants, when it wants."""

import asyncio
import io
from collections.abc import Callable, Coroutine
from typing import Any

from broker_impl.machine.journal import Journal
from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.fetch import FetchedPartition, FetchedTopic, FetchRequest, encode_fetch_response, parse_fetch
from broker_impl.protocol.frames import response_header
from broker_impl.protocol.registry import FETCH
from broker_impl.replication.fetchers import VERSION, Fetcher, Fetchers, FetchSettings
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import LogConfig
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.replication.replica_making import LEADER, ME, TOPIC_ID, batch, become_follower, make_directory, make_replica

SETTINGS = FetchSettings(ME, 100, 1 << 20, 10 << 20)
DEADLINE_S = 60.0


class LeaderLink:
    """Stands for the connection to the leader: keeps the one request under way."""

    def __init__(self) -> None:
        self.connected = True
        self.requests: list[FetchRequest] = []
        self._on_reply: Callable[[memoryview | None], None] | None = None
        self.drops = 0

    async def connection(self) -> bool:
        self.connected = True
        return True

    def call(self, key: int, version: int, body: bytes, timeout_s: float, on_reply: Callable[[memoryview | None], None]) -> None:
        assert key == FETCH and self._on_reply is None, "one request at a time"
        self.requests.append(parse_fetch(memoryview(body), 0, version))
        self._on_reply = on_reply

    def answer(self, *partitions: FetchedPartition) -> None:
        parts = encode_fetch_response(VERSION, 0, 0, 0, [FetchedTopic(None, TOPIC_ID, list(partitions))])
        frame = response_header(FETCH, VERSION, 1) + b"".join(bytes(part) for part in parts)  # type: ignore[arg-type]
        self._settle(memoryview(frame))

    def drop(self) -> None:
        self.drops += 1
        self.connected = False
        if self._on_reply is not None:
            asyncio.get_running_loop().call_soon(self._settle, None)

    def close(self) -> None:
        return None

    def _settle(self, frame: memoryview | None) -> None:
        on_reply, self._on_reply = self._on_reply, None
        if on_reply is not None:
            on_reply(frame)


class Owner:
    broker_epoch = 7

    def __init__(self) -> None:
        self.grown: list[Replica] = []
        self.suspected: list[tuple[int, int]] = []

    def replicated(self, replica: Replica) -> None:
        self.grown.append(replica)

    def suspect(self, leader: int, replica: Replica, offset: int) -> None:
        self.suspected.append((leader, offset))


class Scene:
    def __init__(self, config: LogConfig | None = None) -> None:
        self.disk = ForgetfulDisk()
        self.directory = make_directory(self.disk)
        self.replica = make_replica(self.directory, 0, config)
        become_follower(self.replica, 5)
        self.link = LeaderLink()
        self.owner = Owner()
        journal = Journal(ME, io.StringIO())
        self.fetcher = Fetcher(asyncio.get_running_loop(), LEADER, self.link, SETTINGS, self.owner, journal)  # type: ignore[arg-type]

    async def asked(self, count: int) -> FetchRequest:
        """The request number `count`, counted from one."""
        async with asyncio.timeout(DEADLINE_S):
            while len(self.link.requests) < count:
                await asyncio.sleep(0.001)
        return self.link.requests[count - 1]


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_records_are_appended_and_the_next_fetch_acknowledges_them() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.fetcher.add([scene.replica])
        first = await scene.asked(1)
        assert (first.replica_id, first.replica_epoch) == (ME, 7)
        wanted = first.topics[0].partitions[0]
        assert (wanted.fetch_offset, wanted.current_leader_epoch, wanted.last_fetched_epoch) == (0, 5, -1)
        scene.link.answer(FetchedPartition(0, 0, 1, 1, 0, records=batch(b"a", 0, 5)))
        second = (await scene.asked(2)).topics[0].partitions[0]
        assert (second.fetch_offset, second.last_fetched_epoch) == (1, 5)
        assert scene.replica.state.high_watermark == 1
        assert scene.owner.grown == [scene.replica]

    run(scenario)


def test_an_answer_to_a_question_of_an_older_epoch_is_not_applied() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        become_follower(scene.replica, 6)
        scene.link.answer(FetchedPartition(0, 0, 1, 1, 0, records=batch(b"old", 0, 5)))
        assert (await scene.asked(2)).topics[0].partitions[0].current_leader_epoch == 6
        assert scene.replica.log.end_offset == 0

    run(scenario)


def test_an_answer_is_not_applied_to_a_log_that_was_cut_and_grew_again_to_the_same_end() -> None:
    async def scenario() -> None:
        scene = Scene()
        replica = scene.replica
        replica.replicate(batch(b"a", 0, 3), 0.0)
        replica.replicate(batch(b"b", 1, 3), 0.0)
        scene.fetcher.add([replica])
        await scene.asked(1)
        replica.truncate(1)
        replica.replicate(batch(b"c", 1, 4), 0.0)
        scene.link.answer(FetchedPartition(0, diverging_epoch=(3, 1)))
        await scene.asked(2)
        assert replica.log.end_offset == 2

    run(scenario)


def test_a_removed_replica_gets_nothing_more() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        scene.fetcher.remove(scene.replica)
        scene.link.answer(FetchedPartition(0, 0, 1, 1, 0, records=batch(b"late", 0, 5)))
        assert scene.replica.log.end_offset == 0
        assert len(scene.fetcher) == 0

    run(scenario)


def test_a_diverging_log_is_cut_by_epoch_not_at_the_watermark() -> None:
    async def scenario() -> None:
        scene = Scene()
        replica = scene.replica
        for offset, epoch in enumerate((1, 1, 1, 3)):
            replica.replicate(batch(b"x", offset, epoch), 0.0)
        replica.state.follower_hw(1, 4)
        scene.fetcher.add([replica])
        await scene.asked(1)
        scene.link.answer(FetchedPartition(0, diverging_epoch=(2, 9)))
        wanted = (await scene.asked(2)).topics[0].partitions[0]
        assert (wanted.fetch_offset, wanted.last_fetched_epoch) == (3, 1)

    run(scenario)


def test_an_epoch_in_which_nothing_was_written_is_given_up_without_cutting_records() -> None:
    async def scenario() -> None:
        scene = Scene()
        replica = scene.replica
        replica.replicate(batch(b"x", 0, 1), 0.0)
        replica.log.assign_epoch(4, 1)
        scene.fetcher.add([replica])
        assert (await scene.asked(1)).topics[0].partitions[0].last_fetched_epoch == 4
        scene.link.answer(FetchedPartition(0, diverging_epoch=(1, 1)))
        wanted = (await scene.asked(2)).topics[0].partitions[0]
        assert (wanted.fetch_offset, wanted.last_fetched_epoch) == (1, 1)

    run(scenario)


def test_out_of_range_begins_at_the_leaders_start() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        scene.link.answer(FetchedPartition(0, ErrorCode.OFFSET_OUT_OF_RANGE, 150, 150, 100))
        assert (await scene.asked(2)).topics[0].partitions[0].fetch_offset == 100

    run(scenario)


def test_where_only_flushed_data_counts_the_next_fetch_waits_for_the_flush() -> None:
    async def scenario() -> None:
        scene = Scene(LogConfig(flush_messages=1))
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        scene.link.answer(FetchedPartition(0, 0, 0, 0, 0, records=batch(b"a", 0, 5)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(scene.link.requests) == 1
        scene.replica.log.flush()
        scene.fetcher.kick()
        assert (await scene.asked(2)).topics[0].partitions[0].fetch_offset == 1

    run(scenario)


def test_what_was_stored_before_the_disk_was_full_is_flushed_too() -> None:
    async def scenario() -> None:
        scene = Scene(LogConfig(flush_messages=1))
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        fits, does_not = batch(b"a", 0, 4), batch(b"b", 1, 5)
        scene.disk.room = len(fits) + 30
        scene.link.answer(FetchedPartition(0, 0, 0, 0, 0, records=memoryview(bytes(fits) + bytes(does_not))))
        assert scene.replica.log.end_offset == scene.replica.state.log_end == 1
        assert scene.owner.grown == [scene.replica]

    run(scenario)


def test_a_replica_added_while_a_fetch_is_parked_is_asked_for_at_once() -> None:
    async def scenario() -> None:
        scene = Scene()
        other = make_replica(scene.directory, 1)
        become_follower(other, 2)
        scene.fetcher.add([scene.replica])
        await scene.asked(1)
        scene.fetcher.add([other])
        second = await scene.asked(2)
        assert scene.link.drops == 1
        assert sorted(partition.index for topic in second.topics for partition in topic.partitions) == [0, 1]

    run(scenario)


def test_a_damaged_batch_is_reported_a_few_times_and_then_stops_the_partition_and_no_other() -> None:
    async def scenario() -> None:
        scene = Scene()
        other = make_replica(scene.directory, 1)
        become_follower(other, 5)
        scene.fetcher.add([scene.replica, other])
        damaged = bytearray(batch(b"hello", 0, 5))
        damaged[-1] ^= 0xFF
        asked = 0
        while scene.replica.log.failed is None:
            asked += 1
            request = await scene.asked(asked)
            answers = [
                FetchedPartition(part.index, records=memoryview(damaged) if part.index == 0 else b"")
                for part in request.topics[0].partitions
            ]
            scene.link.answer(*answers)
        assert scene.owner.suspected == [(LEADER, 0)] * 3
        last = await scene.asked(asked + 1)
        assert [partition.index for partition in last.topics[0].partitions] == [1]
        assert scene.replica.log.end_offset == 0

    run(scenario)


def test_a_leader_that_took_a_damaged_partition_offline_is_not_asked_for_it_again() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.fetcher.add([scene.replica])
        damaged = bytearray(batch(b"hello", 0, 5))
        damaged[-1] ^= 0xFF
        await scene.asked(1)
        scene.link.answer(FetchedPartition(0, records=memoryview(damaged)))
        await scene.asked(2)
        scene.link.answer(FetchedPartition(0, ErrorCode.KAFKA_STORAGE_ERROR))
        assert scene.replica.log.failed is not None
        assert len(scene.fetcher) == 0

    run(scenario)


def test_a_replica_whose_log_failed_does_not_keep_the_fetcher_busy() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.replica.log.abandon("the disk is gone")
        scene.fetcher.add([scene.replica])
        for _ in range(20):
            await asyncio.sleep(0)
        assert scene.link.requests == []
        assert scene.fetcher._scheduled is None

    run(scenario)


def test_the_connection_to_a_leader_outlives_the_replicas_that_follow_it() -> None:
    async def scenario() -> None:
        scene = Scene()
        made: list[int] = []

        def make(leader: int) -> Fetcher:
            made.append(leader)
            return scene.fetcher

        fetchers = Fetchers(make)
        fetchers.follow({scene.replica: LEADER})
        fetchers.follow({scene.replica: LEADER})
        fetchers.forget(scene.replica)
        fetchers.follow({scene.replica: LEADER})
        assert made == [LEADER]
        fetchers.close()

    run(scenario)
