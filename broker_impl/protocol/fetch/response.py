"""Fetch responses: a list of parts, records among them untouched."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from broker_impl.protocol.endpoints import NodeEndpoint, encode_node_endpoints, parse_node_endpoints, parse_pair
from broker_impl.protocol.fetch.layout import (
    FLEXIBLE_SINCE,
    NODE_ENDPOINTS_SINCE,
    PREFERRED_REPLICA_SINCE,
    SESSIONS_SINCE,
    read_topic_key,
    topic_key,
)
from broker_impl.protocol.wire import Part, Reader, length, uvarint

COPIED_RECORDS = 4096

_IN_MEMORY = (bytes, memoryview)
_INT32 = struct.Struct(">i")
_ANSWER_4 = struct.Struct(">ihqq")
_ANSWER_5 = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")
_SESSION = struct.Struct(">ihi")
_DIVERGING_TAG = struct.Struct(">BBiqB")
_DIVERGING = struct.Struct(">iq")
_LEADER_TAG = struct.Struct(">BBiiB")
_LEADER = struct.Struct(">ii")
_DIVERGING_NUMBER = 0
_LEADER_NUMBER = 1


@dataclass(slots=True)
class FetchedPartition:
    """The outcome for one partition. `diverging_epoch` is (epoch, end offset), `current_leader` (id, epoch)."""

    index: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[tuple[int, int]] | None = None
    preferred_read_replica: int = -1
    records: Part | None = b""
    diverging_epoch: tuple[int, int] | None = None
    current_leader: tuple[int, int] | None = None


@dataclass(slots=True)
class FetchedTopic:
    name: str | None
    topic_id: bytes | None
    partitions: list[FetchedPartition]


@dataclass(slots=True)
class FetchResponse:
    throttle_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    topics: list[FetchedTopic] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)


def encode_fetch_response(
    version: int,
    throttle_ms: int,
    error: int,
    session_id: int,
    topics: Sequence[FetchedTopic],
    node_endpoints: Iterable[NodeEndpoint] = (),
) -> list[Part]:
    """The body in parts. Records larger than `COPIED_RECORDS`, or not in memory, stay parts of their own, untouched."""
    flexible = version >= FLEXIBLE_SINCE
    encode_partition = _encode_partition if flexible else _encode_old_partition
    parts: list[Part] = []
    out = bytearray(_SESSION.pack(throttle_ms, error, session_id) if version >= SESSIONS_SINCE else _INT32.pack(throttle_ms))
    out += length(len(topics), flexible)
    for topic in topics:
        out += topic_key(topic.name, topic.topic_id, version)
        out += length(len(topic.partitions), flexible)
        for partition in topic.partitions:
            records = partition.records
            size = -1 if records is None else len(records) if isinstance(records, _IN_MEMORY) else records.size
            encode_partition(out, partition, size, version)
            if isinstance(records, _IN_MEMORY) and size <= COPIED_RECORDS:
                out += records
            elif records is not None and size > 0:
                parts += (bytes(out), records)
                out.clear()
            if flexible:
                out += _partition_tags(partition)
        if flexible:
            out.append(0)
    if flexible:
        out += encode_node_endpoints(node_endpoints) if version >= NODE_ENDPOINTS_SINCE else b"\0"
    if out:
        parts.append(bytes(out))
    return parts


def parse_fetch_response(frame: memoryview, position: int, version: int) -> FetchResponse:
    """The follower's side; records are slices of the frame."""
    flexible = version >= FLEXIBLE_SINCE
    reader = Reader(frame, position)
    response = FetchResponse(reader.int32())
    if version >= SESSIONS_SINCE:
        response.error_code, response.session_id = reader.int16(), reader.int32()
    for _ in range(reader.count(flexible)):
        name, topic_id = read_topic_key(reader, version)
        partitions = [_parse_answer(reader, version) for _ in range(reader.count(flexible))]
        if flexible:
            reader.skip_tags()
        response.topics.append(FetchedTopic(name, topic_id, partitions))
    if flexible:
        response.node_endpoints = parse_node_endpoints(reader)
    return response


def _encode_partition(out: bytearray, p: FetchedPartition, size: int, version: int) -> None:
    out += _ANSWER_5.pack(p.index, p.error_code, p.high_watermark, p.last_stable_offset, p.log_start_offset)
    if p.aborted_transactions is None:
        out.append(0)
    else:
        out += uvarint(len(p.aborted_transactions) + 1)
        for aborted in p.aborted_transactions:
            out += _ABORTED.pack(*aborted)
            out.append(0)
    out += _INT32.pack(p.preferred_read_replica)
    out += uvarint(size + 1)


def _encode_old_partition(out: bytearray, p: FetchedPartition, size: int, version: int) -> None:
    if version >= 5:
        out += _ANSWER_5.pack(p.index, p.error_code, p.high_watermark, p.last_stable_offset, p.log_start_offset)
    else:
        out += _ANSWER_4.pack(p.index, p.error_code, p.high_watermark, p.last_stable_offset)
    out += _INT32.pack(-1 if p.aborted_transactions is None else len(p.aborted_transactions))
    for aborted in p.aborted_transactions or ():
        out += _ABORTED.pack(*aborted)
    if version >= PREFERRED_REPLICA_SINCE:
        out += _INT32.pack(p.preferred_read_replica)
    out += _INT32.pack(size)


def _partition_tags(p: FetchedPartition) -> bytes:
    if p.diverging_epoch is None and p.current_leader is None:
        return b"\0"
    tags = b""
    if p.diverging_epoch is not None:
        tags += _DIVERGING_TAG.pack(_DIVERGING_NUMBER, _DIVERGING.size + 1, *p.diverging_epoch, 0)
    if p.current_leader is not None:
        tags += _LEADER_TAG.pack(_LEADER_NUMBER, _LEADER.size + 1, *p.current_leader, 0)
    return (b"\1" if p.diverging_epoch is None or p.current_leader is None else b"\2") + tags


def _parse_answer(reader: Reader, version: int) -> FetchedPartition:
    flexible = version >= FLEXIBLE_SINCE
    partition = FetchedPartition(*reader.unpack(_ANSWER_5 if version >= 5 else _ANSWER_4))
    count = reader.length(flexible)
    if count >= 0:
        partition.aborted_transactions = _parse_aborted(reader, count, flexible)
    if version >= PREFERRED_REPLICA_SINCE:
        partition.preferred_read_replica = reader.int32()
    size = reader.length(flexible)
    partition.records = reader.take(size) if size >= 0 else None
    if flexible:
        _parse_answer_tags(partition, reader)
    return partition


def _parse_aborted(reader: Reader, count: int, flexible: bool) -> list[tuple[int, int]]:
    reader.claim(count, _ABORTED.size)
    aborted: list[tuple[int, int]] = []
    for _ in range(count):
        producer_id, first_offset = reader.unpack(_ABORTED)
        aborted.append((producer_id, first_offset))
        if flexible:
            reader.skip_tags()
    return aborted


def _parse_answer_tags(partition: FetchedPartition, reader: Reader) -> None:
    for tag, content in reader.tags():
        if tag == _DIVERGING_NUMBER:
            partition.diverging_epoch = parse_pair(content, _DIVERGING)
        elif tag == _LEADER_NUMBER:
            partition.current_leader = parse_pair(content, _LEADER)
