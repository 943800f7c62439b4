"""Produce, by hand: the request that carries the data. Hot path, measured by `bench micro`.

Records are slices of the frame, never copies; the codec knows of them only where they begin and end. Versions 3 to 8
count in fixed integers, 9 and 10 in varints with tag sections: two short parsers read better, and faster, than one
that asks at every field. Everything a frame can do wrong ends in an IndexError, a struct.error or a failed check, and
all of them become MalformedRequest at one place.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from broker_impl.protocol.endpoints import NodeEndpoint, encode_node_endpoints, parse_node_endpoints, parse_pair
from broker_impl.protocol.wire import MAX_ELEMENTS, MalformedRequest, Reader, read_uvarint, skip_tags, spend, string
from broker_impl.protocol.wire import length as length_bytes

FLEXIBLE_SINCE = 9
LEADER_HINTS_SINCE = 10

_ACKS_TIMEOUT = struct.Struct(">hi")
_ACKS_TIMEOUT_COUNT = struct.Struct(">hii")
_INDEX_SIZE = struct.Struct(">ii")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_RESULT = struct.Struct(">ihqq")
_RESULT_WITH_START = struct.Struct(">ihqqq")
_SINGLE = struct.Struct(">BhiBB")
_COUNT_INDEX = struct.Struct(">Bi")
_NO_TAGS_AT_ALL = b"\0\0\0"
_STORED = struct.Struct(">BihqqqBBBBiB")
_LEADER_TAG = struct.Struct(">BBBiiB")
_LEADER = struct.Struct(">ii")

Partitions = list[tuple[int, memoryview | None]]


@dataclass(slots=True)
class ProduceRequest:
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[tuple[str, Partitions]]


@dataclass(slots=True)
class ProducedPartition:
    """The outcome for one partition. `current_leader` is (leader id, leader epoch)."""

    index: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str | None]] = ()
    error_message: str | None = None
    current_leader: tuple[int, int] | None = None


@dataclass(slots=True)
class ProduceResponse:
    topics: list[tuple[str, list[ProducedPartition]]]
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)


def parse_produce(frame: memoryview, position: int, version: int) -> ProduceRequest:
    try:
        if version < FLEXIBLE_SINCE:
            return _parse_old(frame, position)
        return _parse_single(frame, position) or _parse_compact(frame, position)
    except (IndexError, struct.error) as error:
        raise MalformedRequest("Produce ends too early") from error
    except UnicodeDecodeError as error:
        raise MalformedRequest("a topic name that is not UTF-8") from error


def encode_produce_response(
    version: int,
    topics: Sequence[tuple[str, Sequence[ProducedPartition]]],
    throttle_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    flexible = version >= FLEXIBLE_SINCE
    if flexible and len(topics) == 1 and len(topics[0][1]) == 1 and _is_stored(topics[0][1][0]) and not node_endpoints and not throttle_ms:
        return _encode_single(*topics[0])
    out = bytearray(length_bytes(len(topics), flexible))
    for name, partitions in topics:
        out += string(name, flexible)
        out += length_bytes(len(partitions), flexible)
        for partition in partitions:
            _encode_partition(out, partition, version)
        if flexible:
            out.append(0)
    out += _INT32.pack(throttle_ms)
    if flexible:
        out += encode_node_endpoints(node_endpoints) if version >= LEADER_HINTS_SINCE else b"\0"
    return bytes(out)


def encode_produce_request(version: int, request: ProduceRequest) -> bytes:
    """The client's side, for drivers and tests."""
    flexible = version >= FLEXIBLE_SINCE
    out = bytearray(string(request.transactional_id, flexible))
    out += _ACKS_TIMEOUT.pack(request.acks, request.timeout_ms)
    out += length_bytes(len(request.topics), flexible)
    tags = b"\0" if flexible else b""
    for name, partitions in request.topics:
        out += string(name, flexible)
        out += length_bytes(len(partitions), flexible)
        for index, records in partitions:
            out += _INT32.pack(index)
            out += length_bytes(-1 if records is None else len(records), flexible)
            out += records or b""
            out += tags
        out += tags
    return bytes(out + tags)


def parse_produce_response(frame: memoryview, position: int, version: int) -> ProduceResponse:
    flexible = version >= FLEXIBLE_SINCE
    reader = Reader(frame, position)
    topics = []
    for _ in range(reader.count(flexible)):
        name = reader.text(reader.length(flexible, short=True))
        partitions = [_parse_partition(reader, version) for _ in range(reader.count(flexible))]
        if flexible:
            reader.skip_tags()
        topics.append((name, partitions))
    response = ProduceResponse(topics, reader.int32())
    if flexible:
        response.node_endpoints = parse_node_endpoints(reader)
    return response


def _parse_old(frame: memoryview, position: int) -> ProduceRequest:
    size = len(frame)
    (length,) = _INT16.unpack_from(frame, position)
    position += 2
    transactional_id = None
    if length >= 0:
        transactional_id = str(frame[position : position + length], "utf-8")
        position += length
    elif length < -1:
        raise MalformedRequest(f"transactional id of {length} bytes")
    acks, timeout_ms, topic_count = _ACKS_TIMEOUT_COUNT.unpack_from(frame, position)
    position += 10
    budget = spend(MAX_ELEMENTS, topic_count)
    topics = []
    for _ in range(topic_count):
        (length,) = _INT16.unpack_from(frame, position)
        start = position + 2
        position = start + length
        if length < 0 or position > size:
            raise MalformedRequest("topic name ends outside its frame")
        name = str(frame[start:position], "utf-8")
        (count,) = _INT32.unpack_from(frame, position)
        position += 4
        budget = spend(budget, count)
        partitions: Partitions = []
        for _ in range(count):
            index, length = _INDEX_SIZE.unpack_from(frame, position)
            start = position + 8
            position = start + length
            if length >= 0 and position <= size:
                partitions.append((index, frame[start:position]))
            elif length == -1:
                position = start
                partitions.append((index, None))
            else:
                raise MalformedRequest("records end outside their frame")
        topics.append((name, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _parse_single(frame: memoryview, position: int) -> ProduceRequest | None:
    """The request of a client that sends one batch at a time, or None: any other has another length or count somewhere."""
    start = position + _SINGLE.size
    if start > len(frame):
        return None
    no_id, acks, timeout_ms, topics, length = _SINGLE.unpack_from(frame, position)
    end = start + length - 1
    if no_id or topics != 2 or not 0 < length < 0x80 or end + _COUNT_INDEX.size > len(frame):
        return None
    partitions, index = _COUNT_INDEX.unpack_from(frame, end)
    if partitions != 2:
        return None
    length, first = read_uvarint(frame, end + _COUNT_INDEX.size)
    last = first + length - 1
    if not length or frame[last:] != _NO_TAGS_AT_ALL:
        return None
    return ProduceRequest(None, acks, timeout_ms, [(str(frame[start:end], "utf-8"), [(index, frame[first:last])])])


def _parse_compact(frame: memoryview, position: int) -> ProduceRequest:
    size = len(frame)
    length, position = read_uvarint(frame, position)
    transactional_id = None
    if length:
        start = position
        position += length - 1
        transactional_id = str(frame[start:position], "utf-8")
    acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(frame, position)
    topic_count, position = read_uvarint(frame, position + 6)
    budget = spend(MAX_ELEMENTS, topic_count - 1)
    topics = []
    for _ in range(topic_count - 1):
        length, start = read_uvarint(frame, position)
        position = start + length - 1
        if not length or position > size:
            raise MalformedRequest("topic name ends outside its frame")
        name = str(frame[start:position], "utf-8")
        count, position = read_uvarint(frame, position)
        budget = spend(budget, count - 1)
        partitions: Partitions = []
        for _ in range(count - 1):
            (index,) = _INT32.unpack_from(frame, position)
            length, start = read_uvarint(frame, position + 4)
            position = start + length - 1
            if length and position <= size:
                partitions.append((index, frame[start:position]))
            elif not length:
                position = start
                partitions.append((index, None))
            else:
                raise MalformedRequest("records end outside their frame")
            position = skip_tags(frame, position) if frame[position] else position + 1
        position = skip_tags(frame, position) if frame[position] else position + 1
        topics.append((name, partitions))
    skip_tags(frame, position)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _is_stored(p: ProducedPartition) -> bool:
    return not p.error_code and not p.record_errors and p.error_message is None and p.current_leader is None


def _encode_single(name: str, partitions: Sequence[ProducedPartition]) -> bytes:
    """The answer to one batch that was stored. No tags, no errors, no hints; they would be where the zeros are."""
    p = partitions[0]
    return _compact_name(name) + _STORED.pack(2, p.index, 0, p.base_offset, p.log_append_time, p.log_start_offset, 1, 0, 0, 0, 0, 0)


@lru_cache(maxsize=1024)
def _compact_name(name: str) -> bytes:
    """Of the only topic in an array."""
    return b"\2" + string(name, flexible=True)


def _encode_partition(out: bytearray, p: ProducedPartition, version: int) -> None:
    if version >= 5:
        out += _RESULT_WITH_START.pack(p.index, p.error_code, p.base_offset, p.log_append_time, p.log_start_offset)
    else:
        out += _RESULT.pack(p.index, p.error_code, p.base_offset, p.log_append_time)
    if version < 8:
        return
    flexible = version >= FLEXIBLE_SINCE
    out += length_bytes(len(p.record_errors), flexible)
    for batch_index, message in p.record_errors:
        out += _INT32.pack(batch_index)
        out += string(message, flexible)
        if flexible:
            out.append(0)
    out += string(p.error_message, flexible)
    if version >= LEADER_HINTS_SINCE and p.current_leader is not None:
        out += _LEADER_TAG.pack(1, 0, _LEADER.size + 1, *p.current_leader, 0)
    elif flexible:
        out.append(0)


def _parse_partition(reader: Reader, version: int) -> ProducedPartition:
    flexible = version >= FLEXIBLE_SINCE
    layout = _RESULT_WITH_START if version >= 5 else _RESULT
    partition = ProducedPartition(*reader.unpack(layout))
    if version < 8:
        return partition
    errors = []
    for _ in range(reader.count(flexible)):
        errors.append((reader.int32(), reader.nullable_text(flexible)))
        if flexible:
            reader.skip_tags()
    partition.record_errors = errors
    partition.error_message = reader.nullable_text(flexible)
    if flexible:
        partition.current_leader = _parse_leader(reader)
    return partition


def _parse_leader(reader: Reader) -> tuple[int, int] | None:
    leader: tuple[int, int] | None = None
    for tag, content in reader.tags():
        if tag == 0:
            leader = parse_pair(content, _LEADER)
    return leader
