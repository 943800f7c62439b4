"""A client of our own that says exactly what it is told, mistakes included: a plain socket and the codecs of the protocol.

One connection a `WireClient`. What the libraries would hide or mend (a wrong checksum, a repeated sequence number, the epoch of a
leader long gone) is sent as it stands, and the answer is handed out as it came.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from broker_impl.protocol.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    encode_fetch_request,
    parse_fetch_response,
)
from broker_impl.protocol.frames import frame_request, parse_response_header
from broker_impl.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from broker_impl.protocol.produce import ProducedPartition, ProduceRequest, ProduceResponse, encode_produce_request, parse_produce_response
from broker_impl.protocol.registry import APIS, FETCH, PRODUCE
from broker_impl.protocol.schema import decode, encode
from broker_impl.protocol.wire import Reader
from broker_impl.storage.batch import BatchHeader, parse_header
from broker_impl.storage.records import Record, build_batch, records
from tests.clients.interface import PATIENCE

Response = TypeVar("Response")
_SIZE = struct.Struct(">i")
_KEYS = {api.request: api.key for api in APIS.values() if api.request is not None}


class ConnectionClosed(Exception):
    """The broker ended the connection."""


class WireClient:
    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._correlation = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    # Requests

    def ask(self, request: object, kind: type[Response], version: int | None = None) -> Response:
        """Any declared message, in the newest version unless told; `kind` is the class of its response."""
        api = APIS[_KEYS[type(request)]]
        assert kind is api.response
        version = api.max_version if version is None else version
        self.send(api.key, version, encode(request, version, api.is_flexible(version)))
        frame, position = self.receive(api.key, version)
        return cast(Response, decode(cast(Any, kind), version, api.is_flexible(version), Reader(frame, position)))

    def produce(
        self,
        topic: str,
        batch: bytes | bytearray | None,
        *,
        partition: int = 0,
        acks: int = -1,
        version: int = 10,
        timeout_ms: int = int(PATIENCE * 1000),
    ) -> ProducedPartition:
        return self.produce_all({topic: [(partition, batch)]}, acks=acks, version=version, timeout_ms=timeout_ms).topics[0][1][0]

    def produce_all(
        self,
        topics: Mapping[str, Sequence[tuple[int, bytes | bytearray | None]]],
        *,
        acks: int = -1,
        version: int = 10,
        timeout_ms: int = int(PATIENCE * 1000),
    ) -> ProduceResponse:
        self.send(PRODUCE, version, produce_body(topics, acks=acks, version=version, timeout_ms=timeout_ms))
        frame, position = self.receive(PRODUCE, version)
        return parse_produce_response(frame, position, version)

    def fetch(
        self,
        topic: str | bytes,
        offset: int,
        *,
        partition: int = 0,
        epoch: int = -1,
        last_epoch: int = -1,
        max_bytes: int = 1 << 20,
        max_wait_ms: int = 0,
        version: int = 12,
    ) -> FetchedPartition:
        """A topic is named by its name up to version 12, by its id from 13 on."""
        body = fetch_body(topic, offset, partition, epoch, last_epoch, max_bytes, max_wait_ms, version)
        self.send(FETCH, version, body)
        return self.receive_fetch(version).topics[0].partitions[0]

    def receive_fetch(self, version: int) -> FetchResponse:
        frame, position = self.receive(FETCH, version)
        return parse_fetch_response(frame, position, version)

    def new_producer(self) -> tuple[int, int]:
        answer = self.ask(InitProducerIdRequest(None, 60_000), InitProducerIdResponse)
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch

    # Bytes

    def send(self, key: int, version: int, body: bytes) -> int:
        """The correlation id it was sent with."""
        self._correlation += 1
        self.send_bytes(frame_request(key, version, self._correlation, "wire", body))
        return self._correlation

    def send_bytes(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as problem:
            raise ConnectionClosed(str(problem)) from problem

    def receive(self, key: int, version: int) -> tuple[memoryview, int]:
        """The next answer, which must be to the last request, and where its body begins."""
        frame = memoryview(self.receive_frame())
        correlation, position = parse_response_header(frame, key, version)
        assert correlation == self._correlation, f"an answer to request {correlation}, not to {self._correlation}"
        return frame, position

    def receive_frame(self) -> bytes:
        (size,) = _SIZE.unpack(self._take(4))
        return self._take(size)

    def ended(self) -> bool:
        """Waits for the broker's next word, and tells whether it was the end."""
        try:
            self.receive_frame()
        except ConnectionClosed:
            return True
        return False

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            try:
                data = self._socket.recv(1 << 20)
            except ConnectionResetError as problem:
                raise ConnectionClosed(str(problem)) from problem
            if not data:
                raise ConnectionClosed("end of stream")
            self._received += data
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken


def batch_of(
    *values: bytes, producer: tuple[int, int] = (-1, -1), sequence: int = -1, timestamp: int = 1_700_000_000_000, attributes: int = 0
) -> bytearray:
    contents = [Record(value, timestamp=timestamp + index) for index, value in enumerate(values)]
    producer_id, epoch = producer
    return build_batch(contents, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, attributes=attributes)


def first_header(fetched: FetchedPartition) -> BatchHeader:
    return parse_header(cast(memoryview, fetched.records))


def values_of(fetched: FetchedPartition) -> list[bytes | None]:
    """Of all whole batches that were fetched."""
    data = memoryview(cast(memoryview, fetched.records or b""))
    values: list[bytes | None] = []
    while len(data) >= 61 and len(data) >= (size := parse_header(data).size):
        values += [record.value for record in records(data[:size])]
        data = data[size:]
    return values


def produce_body(
    topics: Mapping[str, Sequence[tuple[int, bytes | bytearray | None]]], *, acks: int = -1, version: int = 10, timeout_ms: int = 60_000
) -> bytes:
    sent = [(name, [(index, None if data is None else memoryview(data)) for index, data in parts]) for name, parts in topics.items()]
    return encode_produce_request(version, ProduceRequest(None, acks, timeout_ms, sent))


def fetch_body(
    topic: str | bytes, offset: int, partition: int, epoch: int, last_epoch: int, max_bytes: int, max_wait_ms: int, version: int
) -> bytes:
    name, topic_id = (topic, None) if isinstance(topic, str) else (None, topic)
    wanted = FetchPartition(partition, epoch, offset, last_epoch, -1, max_bytes)
    request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=max_bytes, topics=[FetchTopic(name, topic_id, [wanted])])
    return encode_fetch_request(version, request)
