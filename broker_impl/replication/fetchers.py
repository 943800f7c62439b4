"""Followers pull: one connection to each leader broker carries the fetches of all partitions that follow it.

A fetcher has one request under way at a time, so a partition is never asked for twice at once. An answer is applied
only where leader, epoch and offset are still those of the question: the metadata may have moved on meanwhile. The
fetch offset is the acknowledgement: where only flushed data counts, the next fetch waits for the flush.

When a partition is added while a fetch is parked at the leader, the connection is remade: waiting for that fetch to
end would hold up every acks=all produce after a change of leaders.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from broker_impl.machine.journal import Journal
from broker_impl.network.link import Link
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    encode_fetch_request,
    parse_fetch_response,
)
from broker_impl.protocol.frames import parse_response_header
from broker_impl.protocol.registry import FETCH
from broker_impl.protocol.wire import MalformedRequest
from broker_impl.replication.partition import Role
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import CorruptBatch

VERSION = 16
BACKOFF_S = 0.05
OFFLINE_BACKOFF_S = 1.0
"""A disk that is full or gone, here or there, is not mended in a moment."""
CORRUPT_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class FetchSettings:
    broker_id: int
    max_wait_ms: int
    partition_bytes: int
    response_bytes: int


class FetcherOwner(Protocol):
    """What a fetcher needs of the broker around it."""

    @property
    def broker_epoch(self) -> int: ...

    def replicated(self, replica: Replica) -> None:
        """The replica's log grew."""

    def suspect(self, leader: int, replica: Replica, offset: int) -> None:
        """The leader sent a damaged batch: it shall look at its own copy."""


@dataclass(slots=True)
class _Asked:
    """What a question rested on. The last epoch belongs to it: a log cut and grown again may end at the same offset."""

    replica: Replica
    leader_epoch: int
    offset: int
    last_epoch: int


class Fetcher:
    """Fetches everything that follows one leader. Invariant: at most one request is under way."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        leader: int,
        link: Link,
        settings: FetchSettings,
        owner: FetcherOwner,
        journal: Journal,
    ) -> None:
        self._loop = loop
        self._leader = leader
        self._link = link
        self._settings = settings
        self._owner = owner
        self._journal = journal
        self._replicas: dict[Replica, float] = {}
        self._corrupt: dict[Replica, int] = {}
        self._asked: dict[tuple[bytes, int], _Asked] | None = None
        self._scheduled: asyncio.TimerHandle | asyncio.Handle | None = None
        self._starting: asyncio.Task[None] | None = None
        self._remade = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._replicas)

    def add(self, replicas: Iterable[Replica]) -> None:
        """Replicas whose leader (or its epoch) is new; they are asked for at once."""
        for replica in replicas:
            self._replicas[replica] = 0.0
            self._corrupt.pop(replica, None)
        if self._asked is not None:
            self._remade = True
            self._link.drop()
        self.kick()

    def remove(self, replica: Replica) -> None:
        self._replicas.pop(replica, None)
        self._corrupt.pop(replica, None)

    def kick(self) -> None:
        """Something changed: look soon whether there is something to fetch."""
        self._schedule(0.0)

    def close(self) -> None:
        self._closed = True
        if self._scheduled is not None:
            self._scheduled.cancel()
        if self._starting is not None:
            self._starting.cancel()
        self._link.close()

    def _schedule(self, delay_s: float) -> None:
        if self._closed or self._asked is not None:
            return
        if self._scheduled is not None:
            self._scheduled.cancel()
        self._scheduled = self._loop.call_later(delay_s, self._fetch) if delay_s > 0 else self._loop.call_soon(self._fetch)

    def _fetch(self) -> None:
        self._scheduled = None
        if self._closed or self._asked is not None or self._starting is not None or not self._replicas:
            return
        if not self._link.connected:
            self._starting = self._loop.create_task(self._connect())
            return
        if any(replica.awaits_flush for replica in self._replicas):
            return
        self._ask()

    async def _connect(self) -> None:
        try:
            connected = await self._link.connection()
        finally:
            self._starting = None
        self._schedule(0.0 if connected else BACKOFF_S)

    def _ask(self) -> None:
        now = self._loop.time()
        asked: dict[tuple[bytes, int], _Asked] = {}
        topics: dict[bytes, FetchTopic] = {}
        for replica, not_before in self._replicas.items():
            if not_before > now or replica.log.failed is not None:
                continue
            log, state = replica.log, replica.state
            asked[log.topic_id, replica.index] = _Asked(replica, state.leader_epoch, log.end_offset, log.latest_epoch())
            topic = topics.get(log.topic_id)
            if topic is None:
                topic = topics[log.topic_id] = FetchTopic(None, log.topic_id, [])
            topic.partitions.append(
                FetchPartition(
                    index=replica.index,
                    current_leader_epoch=state.leader_epoch,
                    fetch_offset=log.end_offset,
                    last_fetched_epoch=log.latest_epoch(),
                    log_start_offset=log.start_offset,
                    max_bytes=self._settings.partition_bytes,
                )
            )
        due = [not_before for replica, not_before in self._replicas.items() if replica.log.failed is None]
        if not asked:
            if due:
                self._schedule(max(0.001, min(due) - now))
            return
        wait_ms = self._settings.max_wait_ms if len(asked) == len(due) else min(self._settings.max_wait_ms, int(BACKOFF_S * 1000))
        request = FetchRequest(
            replica_id=self._settings.broker_id,
            replica_epoch=self._owner.broker_epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=self._settings.response_bytes,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=list(topics.values()),
            rack_id="",
        )
        self._asked = asked
        self._link.call(FETCH, VERSION, encode_fetch_request(VERSION, request), wait_ms / 1000 + 1.0, self._received)

    def _received(self, frame: memoryview | None) -> None:
        asked, self._asked = self._asked, None
        if self._closed or asked is None:
            return
        if frame is None:
            remade, self._remade = self._remade, False
            self._schedule(0.0 if remade else BACKOFF_S)
            return
        try:
            _correlation, position = parse_response_header(frame, FETCH, VERSION)
            response = parse_fetch_response(frame, position, VERSION)
        except MalformedRequest as problem:
            self._journal.error("fetch-malformed", leader=self._leader, why=str(problem))
            self._link.drop()
            self._schedule(BACKOFF_S)
            return
        if response.error_code != ErrorCode.NONE:
            self._schedule(BACKOFF_S)
            return
        for topic in response.topics:
            for partition in topic.partitions:
                question = asked.get((topic.topic_id or b"", partition.index))
                if question is not None and self._still_holds(question):
                    self._apply(question.replica, partition)
        self._schedule(0.0)

    def _still_holds(self, asked: _Asked) -> bool:
        replica = asked.replica
        state = replica.state
        return (
            replica in self._replicas
            and state.role is Role.FOLLOWER
            and state.leader == self._leader
            and state.leader_epoch == asked.leader_epoch
            and replica.log.end_offset == asked.offset
            and replica.log.latest_epoch() == asked.last_epoch
        )

    def _apply(self, replica: Replica, fetched: FetchedPartition) -> None:
        try:
            if fetched.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._start_over(replica, fetched)
            elif fetched.error_code == ErrorCode.KAFKA_STORAGE_ERROR and replica in self._corrupt:
                self._stop(replica, f"the leader {self._leader} took it offline, as its copy is damaged")
            elif fetched.error_code != ErrorCode.NONE:
                self._delay(replica, OFFLINE_BACKOFF_S if fetched.error_code == ErrorCode.KAFKA_STORAGE_ERROR else BACKOFF_S)
            elif fetched.diverging_epoch is not None:
                self._truncate(replica, *fetched.diverging_epoch)
            else:
                self._append(replica, fetched)
        except CorruptBatch as problem:
            self._met_corruption(replica, problem)
        except (BrokerError, OSError) as problem:
            self._journal.error("replication-failed", topic=replica.topic, part=replica.index, why=str(problem))
            self._delay(replica, OFFLINE_BACKOFF_S)

    def _append(self, replica: Replica, fetched: FetchedPartition) -> None:
        """Who got records goes to the end of the line: the first in it may get a batch larger than the limits.

        What was stored before the disk was full is flushed like any other: where only flushed data counts, no fetch would follow."""
        now = self._loop.time()
        if isinstance(fetched.records, memoryview) and fetched.records:
            try:
                replica.replicate(fetched.records, now)
            finally:
                self._owner.replicated(replica)
            self._replicas[replica] = self._replicas.pop(replica)
            self._corrupt.pop(replica, None)
        replica.state.follower_hw(fetched.high_watermark, replica.log.end_offset)
        if fetched.log_start_offset > replica.log.start_offset:
            replica.log.advance_start(min(fetched.log_start_offset, replica.log.end_offset))

    def _truncate(self, replica: Replica, epoch: int, leader_end: int) -> None:
        """The leader's log and ours part ways at or before (epoch, leader_end): cut there, by epoch, and ask again."""
        _own_epoch, own_end = replica.log.end_offset_for_epoch(epoch)
        was = replica.log.end_offset
        cut = max(min(own_end if own_end >= 0 else leader_end, leader_end, was), replica.log.start_offset)
        replica.truncate(cut)
        self._journal.info(
            "truncated", topic=replica.topic, part=replica.index, epoch=replica.state.leader_epoch, was=was, to=cut, leader=self._leader
        )

    def _start_over(self, replica: Replica, fetched: FetchedPartition) -> None:
        """The leader no longer has what follows our end (retention), or our log is a stranger's: begin at its start."""
        was = replica.log.end_offset
        replica.restart_at(max(fetched.log_start_offset, 0))
        self._journal.info("truncated", topic=replica.topic, part=replica.index, was=was, to=replica.log.end_offset, why="out of range")
        self._delay(replica)

    def _met_corruption(self, replica: Replica, problem: CorruptBatch) -> None:
        """Asked again a few times, since the wire may be to blame; then the partition stops here, and the leader looks at its copy."""
        attempts = self._corrupt[replica] = self._corrupt.get(replica, 0) + 1
        self._journal.error(
            "corrupt-batch", topic=replica.topic, part=replica.index, leader=self._leader, why=str(problem), attempt=attempts
        )
        self._owner.suspect(self._leader, replica, problem.offset)
        if attempts >= CORRUPT_ATTEMPTS:
            self._stop(replica, f"the leader {self._leader} has a damaged batch: {problem}")
        else:
            self._delay(replica, 0.2)

    def _stop(self, replica: Replica, why: str) -> None:
        replica.log.failed = why
        self.remove(replica)
        self._journal.error("log-offline", topic=replica.topic, part=replica.index, why=why)

    def _delay(self, replica: Replica, delay_s: float = BACKOFF_S) -> None:
        if replica in self._replicas:
            self._replicas[replica] = self._loop.time() + delay_s


class Fetchers:
    """A fetcher for each leader this broker follows."""

    def __init__(self, make: Callable[[int], Fetcher | None]) -> None:
        self._make = make
        self._fetchers: dict[int, Fetcher] = {}
        self._leader_of: dict[Replica, int] = {}

    def follow(self, leaders: dict[Replica, int]) -> None:
        """Each replica follows the leader given; one with leader -1 follows nobody."""
        by_leader: dict[int, list[Replica]] = {}
        for replica, leader in leaders.items():
            self.forget(replica)
            if leader >= 0:
                by_leader.setdefault(leader, []).append(replica)
        for leader, replicas in by_leader.items():
            fetcher = self._fetchers.get(leader)
            if fetcher is None:
                fetcher = self._make(leader)
            if fetcher is None:
                continue
            self._fetchers[leader] = fetcher
            fetcher.add(replicas)
            for replica in replicas:
                self._leader_of[replica] = leader
        self._close_idle()

    def forget(self, replica: Replica) -> None:
        leader = self._leader_of.pop(replica, None)
        if leader is not None:
            self._fetchers[leader].remove(replica)

    def readdress(self, leader: int) -> None:
        """The leader broker has a new address: its fetcher is made anew."""
        replicas = [replica for replica, followed in self._leader_of.items() if followed == leader]
        stale = self._fetchers.pop(leader, None)
        if stale is not None:
            stale.close()
        for replica in replicas:
            del self._leader_of[replica]
        self.follow(dict.fromkeys(replicas, leader))

    def kick(self, replica: Replica) -> None:
        leader = self._leader_of.get(replica)
        if leader is not None:
            self._fetchers[leader].kick()

    def close(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.close()

    def _close_idle(self) -> None:
        for leader in [leader for leader, fetcher in self._fetchers.items() if not len(fetcher)]:
            self._fetchers.pop(leader).close()
