"""Produce: batches go from the receive buffer into the log, and the answer waits for as much as `acks` asks.

Hot path (`bench micro`): for a partition this is one dictionary look-up, one header, one checksum and one write. With
acks=all the request is parked until the high watermark has passed its last record; with acks=1 it is answered at once,
unless the topic counts only what is flushed. What follows a refused batch of the same producer is refused, too, and what
overtook one that the leader before refused is asked to come again.
"""

from broker_impl.api.services import Services, tell_fenced
from broker_impl.delayed.purgatory import DelayedOperation
from broker_impl.network.connection import Exchange
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.frames import RequestHeader, frame_response
from broker_impl.protocol.produce import ProducedPartition, ProduceRequest, encode_produce_response, parse_produce
from broker_impl.replication.partition import ACKS_ALL, Role
from broker_impl.replication.replica import Replica
from broker_impl.storage.batch import HEADER_SIZE, BatchHeader, parse_header
from broker_impl.transactions.handovers import Handovers
from broker_impl.transactions.refusals import Refusals

Topics = list[tuple[str, list[ProducedPartition]]]


class ProduceApi:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._replicas = services.replicas
        self._wall_ms = services.machine.wall_ms
        self._refusals = Refusals()
        self._handovers = Handovers()
        self.bytes_in = 0
        self.messages_in = 0
        self.requests = 0
        self.duplicates = 0

    def serve(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        request = parse_produce(frame, header.body_position, header.api_version)
        self.requests += 1
        waits: list[_Wait] = []
        topics = self._append_all(request, waits)
        if request.acks == 0:
            if any(result.error_code for _name, results in topics for result in results):
                exchange.refuse("an acks=0 produce failed, and has no other way to say so")
            return False
        if not waits:
            exchange.reply(self._response(header, topics))
            return True
        operation = _DelayedProduce(self, header, exchange, topics, waits)
        if not self._replicas.produces.complete_or_watch(operation, [wait.replica for wait in waits], request.timeout_ms / 1000):
            exchange.when_lost(operation.complete)
        return True

    def answer(self, header: RequestHeader, exchange: Exchange, topics: Topics) -> None:
        if not exchange.closed:
            exchange.reply(self._response(header, topics))

    def _append_all(self, request: ProduceRequest, waits: "list[_Wait]") -> Topics:
        acks = request.acks
        wall_ms, now = self._wall_ms(), self._services.loop.time()
        topics: Topics = []
        for name, partitions in request.topics:
            results = []
            for index, records in partitions:
                try:
                    if acks not in (0, 1, ACKS_ALL):
                        raise BrokerError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is 0, 1 or -1, not {acks}")
                    results.append(self._append(name, index, records, acks, wall_ms, now, waits))
                except BrokerError as problem:
                    results.append(self._refusal(name, index, records, problem, now))
            topics.append((name, results))
        return topics

    def _append(
        self, name: str, index: int, records: memoryview | None, acks: int, wall_ms: int, now: float, waits: "list[_Wait]"
    ) -> ProducedPartition:
        replicas = self._replicas
        replica = replicas.find_leader(name, index)
        if records is None or not records:
            raise BrokerError(ErrorCode.INVALID_RECORD, "a produce without records")
        if self._refusals.any:
            self._keep_in_line(replica, records, acks, now)
        try:
            appended, watermark_moved = replica.append(records, acks, wall_ms, now)
        except BrokerError as problem:
            if problem.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                self._await_handover(replica, parse_header(records), now)
            raise
        if appended.duplicate:
            self.duplicates += 1
            self._services.machine.journal.info("duplicate-batch", topic=name, part=index, offset=appended.base_offset)
        else:
            self.bytes_in += appended.size
            self.messages_in += appended.last_offset - appended.base_offset + 1
            replicas.flusher.appended(replica)
            replicas.appended(replica)
        if watermark_moved:
            replicas.watermark_moved(replica)
        result = ProducedPartition(index, 0, appended.base_offset, appended.log_append_time, replica.log.start_offset)
        if acks == ACKS_ALL or (acks == 1 and replica.flush_counts):
            wait = _Wait(replica, appended.last_offset + 1, replica.state.leader_epoch, acks, result)
            if not wait.settled():
                waits.append(wait)
        return result

    def _keep_in_line(self, replica: Replica, records: memoryview, acks: int, now: float) -> None:
        """Nothing overtakes what was refused here."""
        if len(records) < HEADER_SIZE:
            return
        header = parse_header(records)
        replica.check_online()
        replica.state.may_append(acks)
        reason = self._refusals.reason(replica.topic, replica.index, header, replica.log.expected_sequence(header), now)
        if reason is not None:
            raise BrokerError(reason, f"sequence {header.base_sequence} follows one that was refused and has not come again")

    def _await_handover(self, replica: Replica, header: BatchHeader, now: float) -> None:
        """It may have overtaken what the leader before refused."""
        state = replica.state
        if replica.log.skips_to(header, state.epoch_start) and self._handovers.may_be_on_its_way(
            replica.topic, replica.index, state.leader_epoch, header, now
        ):
            self._services.machine.journal.info("batch-overtook", topic=replica.topic, part=replica.index, producer=header.producer_id)
            raise BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"what comes before sequence {header.base_sequence} has not come yet")

    def _refusal(self, name: str, index: int, records: memoryview | None, problem: BrokerError, now: float) -> ProducedPartition:
        if records is not None and len(records) >= HEADER_SIZE:
            self._refusals.note(name, index, parse_header(records), problem.code, now)
        tell_fenced(self._services.machine, problem, name, index)
        hint = self._services.leader_hint(name, index, problem.code)
        return ProducedPartition(index, problem.code, error_message=problem.message or None, current_leader=hint)

    def _response(self, header: RequestHeader, topics: Topics) -> list[bytes]:
        hinted = set()
        for _name, results in topics:
            for result in results:
                if result.current_leader is not None:
                    hinted.add(result.current_leader[0])
        endpoints = self._services.endpoints(hinted) if hinted else ()
        body = encode_produce_response(header.api_version, topics, 0, endpoints)
        return [frame_response(header.api_key, header.api_version, header.correlation_id, body)]

    def hint(self, wait: "_Wait") -> None:
        wait.result.current_leader = self._services.leader_hint(wait.replica.topic, wait.replica.index, wait.result.error_code)


class _Wait:
    """One partition of a parked produce: up to which offset, in which epoch, and where the outcome goes."""

    __slots__ = ("acks", "epoch", "replica", "required", "result")

    def __init__(self, replica: Replica, required: int, epoch: int, acks: int, result: ProducedPartition) -> None:
        self.replica = replica
        self.required = required
        self.epoch = epoch
        self.acks = acks
        self.result = result

    def settled(self) -> bool:
        outcome = self._outcome()
        if outcome is None:
            return False
        if outcome != ErrorCode.NONE:
            self.fail(outcome)
        return True

    def fail(self, code: ErrorCode) -> None:
        self.result.error_code = code
        self.result.base_offset = -1

    def _outcome(self) -> ErrorCode | None:
        if self.replica.log.failed is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        state = self.replica.state
        if self.acks == ACKS_ALL:
            return state.ack_state(self.required, self.epoch)
        if state.role is not Role.LEADER or state.leader_epoch != self.epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if self.replica.log.flushed_offset >= self.required else None


class _DelayedProduce(DelayedOperation):
    __slots__ = ("_api", "_exchange", "_header", "_topics", "_waits")

    def __init__(self, api: ProduceApi, header: RequestHeader, exchange: Exchange, topics: Topics, waits: list[_Wait]) -> None:
        super().__init__()
        self._api = api
        self._header = header
        self._exchange = exchange
        self._topics = topics
        self._waits = waits

    def try_complete(self) -> bool:
        waiting = []
        for wait in self._waits:
            if not wait.settled():
                waiting.append(wait)
            elif wait.result.error_code:
                self._api.hint(wait)
        self._waits = waiting
        return not waiting

    def on_expire(self) -> None:
        for wait in self._waits:
            wait.fail(ErrorCode.REQUEST_TIMED_OUT)

    def on_complete(self) -> None:
        self._api.answer(self._header, self._exchange, self._topics)
