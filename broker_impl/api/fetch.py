"""Fetch: for consumers what is committed, for followers everything, from the file to the socket.

Hot path (`bench micro`). A fetch that finds too little is parked and read anew when something was appended or
committed, or when its time is up. A follower's fetch is also an acknowledgement: it counts once, on arrival, and only
after its epoch was checked and its log found not to diverge from ours.
"""

from broker_impl.api.services import Services, tell_fenced
from broker_impl.delayed.purgatory import DelayedOperation
from broker_impl.network.connection import Exchange
from broker_impl.network.outlet import Part
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.fetch import FetchedPartition, FetchedTopic, FetchPartition, FetchRequest, encode_fetch_response, parse_fetch
from broker_impl.protocol.frames import RequestHeader, frame_response_parts
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import LogSlice

CONSUMER = -1


class FetchApi:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._replicas = services.replicas
        self._largest = services.config.fetch_bytes
        self.bytes_out = 0
        self.requests = 0

    def serve(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        request = parse_fetch(frame, header.body_position, header.api_version)
        self.requests += 1
        fetch = _Fetch(self._services, request, self._largest)
        if fetch.is_replica:
            fetch.acknowledge()
        topics, size, urgent = fetch.read()
        if urgent or size >= request.min_bytes or request.max_wait_ms <= 0:
            self.answer(header, exchange, topics, size)
            return True
        operation = _DelayedFetch(self, header, exchange, fetch)
        if not self._replicas.fetches.complete_or_watch(operation, fetch.keys(), request.max_wait_ms / 1000):
            exchange.when_lost(operation.complete)
        return True

    def answer(self, header: RequestHeader, exchange: Exchange, topics: list[FetchedTopic], size: int) -> None:
        if exchange.closed:
            return
        self.bytes_out += size
        hinted = {part.current_leader[0] for topic in topics for part in topic.partitions if part.current_leader is not None}
        endpoints = self._services.endpoints(hinted) if hinted else ()
        body = encode_fetch_response(header.api_version, 0, 0, 0, topics, endpoints)
        parts: list[Part] = frame_response_parts(header.api_key, header.api_version, header.correlation_id, body)  # type: ignore[assignment]
        exchange.reply(parts)


class _Fetch:
    """One request, which may be read several times before it is answered."""

    def __init__(self, services: Services, request: FetchRequest, largest: int) -> None:
        self._services = services
        self._replicas = services.replicas
        self._request = request
        self._limit = min(request.max_bytes, largest)
        self.is_replica = request.replica_id > CONSUMER

    def keys(self) -> list[object]:
        """What to wait for: the log's growth as a follower, the watermark's as a consumer."""
        keys: list[object] = []
        for topic in self._request.topics:
            name = self._name(topic.name, topic.topic_id)
            for wanted in topic.partitions:
                try:
                    replica = self._replicas.find(name or "", wanted.index)
                except BrokerError:
                    continue
                keys.append(replica.log if self.is_replica else replica)
        return keys

    def acknowledge(self) -> None:
        """A follower's offsets say what it has stored."""
        now = self._services.loop.time()
        request, replicas = self._request, self._replicas
        for topic in request.topics:
            name = self._name(topic.name, topic.topic_id) or ""
            for wanted in topic.partitions:
                try:
                    replica = self._led(name, wanted)
                except BrokerError:
                    continue
                if self._divergence(replica, wanted) is not None:
                    continue
                if not replica.log.start_offset <= wanted.fetch_offset <= replica.log.end_offset:
                    continue
                effect = replica.state.follower_fetched(
                    request.replica_id, request.replica_epoch, wanted.fetch_offset, now, replicas.live_epochs
                )
                if effect.isr_change is not None:
                    replicas.isr_updates.wish(replica, effect.isr_change)
                if effect.hw_moved:
                    replicas.watermark_moved(replica)

    def read(self) -> tuple[list[FetchedTopic], int, bool]:
        """The answer as of now, its bytes of records, and whether it must go out at once."""
        size = 0
        urgent = not self._request.topics
        topics = []
        for topic in self._request.topics:
            name = self._name(topic.name, topic.topic_id)
            partitions = []
            for wanted in topic.partitions:
                if name is None:
                    partitions.append(FetchedPartition(wanted.index, ErrorCode.UNKNOWN_TOPIC_ID))
                    urgent = True
                    continue
                try:
                    fetched, records = self._read(name, wanted, self._limit - size, size == 0)
                    size += records
                    urgent = urgent or fetched.diverging_epoch is not None
                except BrokerError as problem:
                    fetched = self._refusal(name, wanted, problem)
                    urgent = True
                partitions.append(fetched)
            topics.append(FetchedTopic(topic.name, topic.topic_id, partitions))
        return topics, size, urgent

    def ready(self) -> bool:
        """Whether reading again is worth it. Cheap, as it is asked at every append."""
        available = 0
        for topic in self._request.topics:
            name = self._name(topic.name, topic.topic_id)
            for wanted in topic.partitions:
                try:
                    replica = self._led(name or "", wanted)
                except BrokerError:
                    return True
                end = replica.log.end_offset if self.is_replica else replica.state.high_watermark
                if end > wanted.fetch_offset:
                    if self._request.min_bytes <= 1:
                        return True
                    available += self._available(replica, wanted)
        return available >= self._request.min_bytes

    def _available(self, replica: Replica, wanted: FetchPartition) -> int:
        try:
            return self._slice(replica, wanted, min(self._limit, wanted.max_bytes), True).size
        except BrokerError:
            return self._request.min_bytes

    def _read(self, name: str, wanted: FetchPartition, left: int, at_least_one: bool) -> tuple[FetchedPartition, int]:
        replica = self._led(name, wanted)
        watermark = replica.state.high_watermark
        fetched = FetchedPartition(wanted.index, 0, watermark, watermark, replica.log.start_offset)
        fetched.diverging_epoch = self._divergence(replica, wanted)
        if fetched.diverging_epoch is not None or (left <= 0 and not at_least_one):
            return fetched, 0
        records = self._slice(replica, wanted, max(min(wanted.max_bytes, left), 0), at_least_one)
        if not records.size:
            return fetched, 0
        fetched.records = records
        return fetched, records.size

    def _slice(self, replica: Replica, wanted: FetchPartition, most: int, at_least_one: bool) -> LogSlice:
        try:
            if self.is_replica:
                return replica.read_for_follower(wanted.fetch_offset, most, at_least_one)
            return replica.read_for_consumer(wanted.fetch_offset, most, at_least_one)
        except OSError as problem:
            raise BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, str(problem)) from problem

    def _led(self, name: str, wanted: FetchPartition) -> Replica:
        replicas = self._replicas
        if not self.is_replica:
            replica = replicas.find_leader(name, wanted.index)
            replica.state.check_epoch(wanted.current_leader_epoch)
        else:
            replica = replicas.find(name, wanted.index)
            replica.state.check_replica_epoch(wanted.current_leader_epoch)
            self._check_follower(replica)
        replica.check_online()
        return replica

    def _check_follower(self, replica: Replica) -> None:
        request = self._request
        broker = self._replicas.image.brokers.get(request.replica_id)
        if broker is None or broker.epoch != request.replica_epoch or request.replica_id not in replica.state.replicas:
            raise BrokerError(
                ErrorCode.STALE_BROKER_EPOCH, f"broker {request.replica_id} of epoch {request.replica_epoch} has no replica here"
            )

    def _divergence(self, replica: Replica, wanted: FetchPartition) -> tuple[int, int] | None:
        """Where a log that ends in (last_fetched_epoch, fetch_offset) parts from ours; None where it does not."""
        if wanted.last_fetched_epoch < 0:
            return None
        epoch, end = replica.log.end_offset_for_epoch(wanted.last_fetched_epoch)
        if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
            return epoch, end
        return None

    def _refusal(self, name: str, wanted: FetchPartition, problem: BrokerError) -> FetchedPartition:
        tell_fenced(self._services.machine, problem, name, wanted.index)
        fetched = FetchedPartition(wanted.index, problem.code)
        fetched.current_leader = self._services.leader_hint(name, wanted.index, problem.code)
        if problem.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            replica = self._replicas.find(name, wanted.index)
            fetched.log_start_offset, fetched.high_watermark = replica.log.start_offset, replica.state.high_watermark
        return fetched

    def _name(self, name: str | None, topic_id: bytes | None) -> str | None:
        return name if topic_id is None else self._replicas.image.topic_names.get(topic_id)


class _DelayedFetch(DelayedOperation):
    __slots__ = ("_api", "_exchange", "_fetch", "_header")

    def __init__(self, api: FetchApi, header: RequestHeader, exchange: Exchange, fetch: _Fetch) -> None:
        super().__init__()
        self._api = api
        self._header = header
        self._exchange = exchange
        self._fetch = fetch

    def try_complete(self) -> bool:
        return self._exchange.closed or self._fetch.ready()

    def on_complete(self) -> None:
        if self._exchange.closed:
            return
        topics, size, _urgent = self._fetch.read()
        self._api.answer(self._header, self._exchange, topics, size)
