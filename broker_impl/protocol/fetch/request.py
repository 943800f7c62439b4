"""Fetch requests: which partitions, from which offset, known at which epochs."""

import struct
from dataclasses import dataclass, field

from broker_impl.protocol.fetch.layout import (
    FLEXIBLE_SINCE,
    RACK_SINCE,
    REPLICA_STATE_SINCE,
    SESSIONS_SINCE,
    TOPIC_IDS_SINCE,
    read_topic_key,
    topic_key,
)
from broker_impl.protocol.wire import MAX_ELEMENTS, MalformedRequest, Reader, length, read_uvarint, skip_tags, spend, string

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_OPENING = struct.Struct(">iiiib")
_OPENING_WITH_SESSION = struct.Struct(">iiiibii")
_OPENING_WITHOUT_REPLICA = struct.Struct(">iiibii")
_ASKED_4 = struct.Struct(">iqi")
_ASKED_5 = struct.Struct(">iqqi")
_ASKED_9 = struct.Struct(">iiqqi")
_ASKED_12 = struct.Struct(">iiqiqi")
_REPLICA_STATE_TAG = struct.Struct(">BBBiqB")
_REPLICA_STATE = struct.Struct(">iq")


@dataclass(slots=True)
class FetchPartition:
    index: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


@dataclass(slots=True)
class FetchTopic:
    """A topic named in one way or the other, as the version has it."""

    name: str | None
    topic_id: bytes | None
    partitions: list[FetchPartition]


@dataclass(slots=True)
class FetchRequest:
    replica_id: int = -1
    replica_epoch: int = -1
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 0x7FFF_FFFF
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = field(default_factory=list)
    rack_id: str = ""


def parse_fetch(frame: memoryview, position: int, version: int) -> FetchRequest:
    try:
        request, position = _parse_opening(frame, position, version)
        parse_topics = _parse_topics if version >= FLEXIBLE_SINCE else _parse_old_topics
        request.topics, position = parse_topics(frame, position, version)
    except (IndexError, struct.error) as error:
        raise MalformedRequest("Fetch ends too early") from error
    except UnicodeDecodeError as error:
        raise MalformedRequest("a topic name that is not UTF-8") from error
    if version >= SESSIONS_SINCE and frame[position:] != _nothing_more(version):
        _parse_end(request, Reader(frame, position), version)
    return request


def encode_fetch_request(version: int, request: FetchRequest) -> bytes:
    """The follower's side."""
    flexible = version >= FLEXIBLE_SINCE
    out = bytearray(_opening(request, version))
    out += length(len(request.topics), flexible)
    for topic in request.topics:
        out += topic_key(topic.name, topic.topic_id, version)
        out += length(len(topic.partitions), flexible)
        for partition in topic.partitions:
            out += _asked(partition, version)
        if flexible:
            out.append(0)
    if version >= SESSIONS_SINCE:
        out += length(0, flexible)
    if version >= RACK_SINCE:
        out += string(request.rack_id, flexible)
    if flexible:
        out += _replica_state(request) if version >= REPLICA_STATE_SINCE else b"\0"
    return bytes(out)


def _parse_opening(frame: memoryview, position: int, version: int) -> tuple[FetchRequest, int]:
    replica_id, session_id, session_epoch = -1, 0, -1
    if version >= REPLICA_STATE_SINCE:
        layout = _OPENING_WITHOUT_REPLICA
        wait, least, most, isolation, session_id, session_epoch = layout.unpack_from(frame, position)
    elif version >= SESSIONS_SINCE:
        layout = _OPENING_WITH_SESSION
        replica_id, wait, least, most, isolation, session_id, session_epoch = layout.unpack_from(frame, position)
    else:
        layout = _OPENING
        replica_id, wait, least, most, isolation = layout.unpack_from(frame, position)
    return FetchRequest(replica_id, -1, wait, least, most, isolation, session_id, session_epoch), position + layout.size


def _parse_topics(frame: memoryview, position: int, version: int) -> tuple[list[FetchTopic], int]:
    topics: list[FetchTopic] = []
    unpack_from, partition_size = _ASKED_12.unpack_from, _ASKED_12.size
    topic_count, position = read_uvarint(frame, position)
    budget = spend(MAX_ELEMENTS, topic_count - 1)
    for _ in range(topic_count - 1):
        name = topic_id = None
        if version >= TOPIC_IDS_SINCE:
            topic_id = bytes(frame[position : position + 16])
            position += 16
        else:
            size, position = read_uvarint(frame, position)
            name, position = _text(frame, position, size - 1)
        count, position = read_uvarint(frame, position)
        budget = spend(budget, count - 1)
        partitions = []
        for _ in range(count - 1):
            partitions.append(FetchPartition(*unpack_from(frame, position)))
            position += partition_size
            position = skip_tags(frame, position) if frame[position] else position + 1
        position = skip_tags(frame, position) if frame[position] else position + 1
        topics.append(FetchTopic(name, topic_id, partitions))
    return topics, position


def _parse_old_topics(frame: memoryview, position: int, version: int) -> tuple[list[FetchTopic], int]:
    topics: list[FetchTopic] = []
    (topic_count,) = _INT32.unpack_from(frame, position)
    position += 4
    budget = spend(MAX_ELEMENTS, topic_count)
    for _ in range(topic_count):
        (size,) = _INT16.unpack_from(frame, position)
        name, position = _text(frame, position + 2, size)
        (count,) = _INT32.unpack_from(frame, position)
        position += 4
        budget = spend(budget, count)
        partitions = []
        for _ in range(count):
            partition, position = _parse_old_partition(frame, position, version)
            partitions.append(partition)
        topics.append(FetchTopic(name, None, partitions))
    return topics, position


def _parse_old_partition(frame: memoryview, position: int, version: int) -> tuple[FetchPartition, int]:
    epoch = start = -1
    if version >= 9:
        layout = _ASKED_9
        index, epoch, offset, start, most = layout.unpack_from(frame, position)
    elif version >= 5:
        layout = _ASKED_5
        index, offset, start, most = layout.unpack_from(frame, position)
    else:
        layout = _ASKED_4
        index, offset, most = layout.unpack_from(frame, position)
    return FetchPartition(index, epoch, offset, -1, start, most), position + layout.size


def _nothing_more(version: int) -> bytes:
    """How nearly every consumer's request ends: nothing forgotten, no rack, no tags."""
    if version >= FLEXIBLE_SINCE:
        return b"\1\1\0"
    return bytes(6) if version >= RACK_SINCE else bytes(4)


def _parse_end(request: FetchRequest, reader: Reader, version: int) -> None:
    """What follows the topics: partitions a session forgets (nothing to us, who keep none), rack, replica state."""
    flexible = version >= FLEXIBLE_SINCE
    for _ in range(reader.count(flexible)):
        read_topic_key(reader, version)
        reader.take(4 * reader.count(flexible))
        if flexible:
            reader.skip_tags()
    if version >= RACK_SINCE:
        request.rack_id = reader.text(reader.length(flexible, short=True))
    if flexible:
        _parse_request_tags(request, reader, version)


def _parse_request_tags(request: FetchRequest, reader: Reader, version: int) -> None:
    for tag, content in reader.tags():
        if tag == 1 and version >= REPLICA_STATE_SINCE:
            if len(content) <= _REPLICA_STATE.size:
                raise MalformedRequest("replica state ends too early")
            request.replica_id, request.replica_epoch = _REPLICA_STATE.unpack_from(content)


def _text(frame: memoryview, position: int, size: int) -> tuple[str, int]:
    end = position + size
    if size < 0 or end > len(frame):
        raise MalformedRequest("topic name ends outside its frame")
    return str(frame[position:end], "utf-8"), end


def _opening(request: FetchRequest, version: int) -> bytes:
    r = request
    limits = (r.max_wait_ms, r.min_bytes, r.max_bytes, r.isolation_level)
    if version >= REPLICA_STATE_SINCE:
        return _OPENING_WITHOUT_REPLICA.pack(*limits, r.session_id, r.session_epoch)
    if version >= SESSIONS_SINCE:
        return _OPENING_WITH_SESSION.pack(r.replica_id, *limits, r.session_id, r.session_epoch)
    return _OPENING.pack(r.replica_id, *limits)


def _asked(p: FetchPartition, version: int) -> bytes:
    if version >= FLEXIBLE_SINCE:
        epochs = (p.index, p.current_leader_epoch, p.fetch_offset, p.last_fetched_epoch)
        return _ASKED_12.pack(*epochs, p.log_start_offset, p.max_bytes) + b"\0"
    if version >= 9:
        return _ASKED_9.pack(p.index, p.current_leader_epoch, p.fetch_offset, p.log_start_offset, p.max_bytes)
    if version >= 5:
        return _ASKED_5.pack(p.index, p.fetch_offset, p.log_start_offset, p.max_bytes)
    return _ASKED_4.pack(p.index, p.fetch_offset, p.max_bytes)


def _replica_state(request: FetchRequest) -> bytes:
    if request.replica_id == -1 and request.replica_epoch == -1:
        return b"\0"
    return _REPLICA_STATE_TAG.pack(1, 1, _REPLICA_STATE.size + 1, request.replica_id, request.replica_epoch, 0)
