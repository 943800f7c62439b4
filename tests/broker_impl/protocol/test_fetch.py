"""The hot Fetch codec against declared messages, which test_messages.py holds against kio."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from broker_impl.protocol.endpoints import NodeEndpoint
from broker_impl.protocol.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    encode_fetch_request,
    encode_fetch_response,
    parse_fetch,
    parse_fetch_response,
)
from broker_impl.protocol.fetch.layout import FLEXIBLE_SINCE, TOPIC_IDS_SINCE
from broker_impl.protocol.frames import size_of
from broker_impl.protocol.schema import encode
from broker_impl.protocol.wire import Part
from tests.broker_impl.protocol import declared, judge
from tests.broker_impl.protocol.future import from_the_future

SEEDS = range(60)
TOPIC_ID = bytes(range(16))
each_version = pytest.mark.parametrize("version", range(4, 17))
each_flexible_version = pytest.mark.parametrize("version", range(FLEXIBLE_SINCE, 17))


@dataclass
class InFile:
    """Stands for a slice of a segment: a size, and bytes that only the network will ever read."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)


def topic_name(message: Any, version: int) -> tuple[str | None, bytes | None]:
    return (None, message.topic_id) if version >= TOPIC_IDS_SINCE else (message.topic, None)


def as_request(message: Any, version: int) -> FetchRequest:
    m, state = message, message.replica_state
    topics = [
        FetchTopic(
            *topic_name(topic, version),
            [
                FetchPartition(
                    p.partition, p.current_leader_epoch, p.fetch_offset, p.last_fetched_epoch, p.log_start_offset, p.partition_max_bytes
                )
                for p in topic.partitions
            ],
        )
        for topic in m.topics
    ]
    return FetchRequest(
        replica_id=m.replica_id if version < 15 else state.replica_id,
        replica_epoch=state.replica_epoch,
        max_wait_ms=m.max_wait_ms,
        min_bytes=m.min_bytes,
        max_bytes=m.max_bytes,
        isolation_level=m.isolation_level,
        session_id=m.session_id,
        session_epoch=m.session_epoch,
        topics=topics,
        rack_id=m.rack_id,
    )


def as_response(message: Any, version: int) -> FetchResponse:
    topics = [FetchedTopic(*topic_name(topic, version), [as_partition(p) for p in topic.partitions]) for topic in message.responses]
    endpoints = [NodeEndpoint(each.node_id, each.host, each.port, each.rack) for each in message.node_endpoints]
    return FetchResponse(message.throttle_time_ms, message.error_code, message.session_id, topics, endpoints)


def as_partition(p: Any) -> FetchedPartition:
    diverging, leader = (p.diverging_epoch.epoch, p.diverging_epoch.end_offset), (p.current_leader.leader_id, p.current_leader.leader_epoch)
    aborted = p.aborted_transactions
    return FetchedPartition(
        p.partition_index,
        p.error_code,
        p.high_watermark,
        p.last_stable_offset,
        p.log_start_offset,
        aborted if aborted is None else [(each.producer_id, each.first_offset) for each in aborted],
        p.preferred_read_replica,
        p.records,
        None if diverging == (-1, -1) else diverging,
        None if leader == (-1, -1) else leader,
    )


def encoded(version: int, response: FetchResponse) -> list[Part]:
    r = response
    return encode_fetch_response(version, r.throttle_ms, r.error_code, r.session_id, r.topics, r.node_endpoints)


def joined(parts: list[Any]) -> bytes:
    return b"".join(part.content if isinstance(part, InFile) else bytes(part) for part in parts)


@each_version
def test_requests_are_read_as_declared(version: int) -> None:
    for seed in SEEDS:
        message = judge.random_message(declared.FetchRequest, version, random.Random(seed))
        data = encode(message, version, version >= FLEXIBLE_SINCE)
        assert parse_fetch(memoryview(b"header" + data), 6, version) == as_request(message, version)


@each_version
def test_requests_are_written_as_declared(version: int) -> None:
    for seed in SEEDS:
        message = judge.random_message(declared.FetchRequest, version, random.Random(seed))
        message.cluster_id, message.forgotten_topics_data = None, []
        data = encode(message, version, version >= FLEXIBLE_SINCE)
        assert encode_fetch_request(version, as_request(message, version)) == data


@each_version
def test_responses_are_written_and_read_as_declared(version: int) -> None:
    for seed in SEEDS:
        message = judge.random_message(declared.FetchResponse, version, random.Random(seed))
        for topic in message.responses:
            for partition in topic.partitions:
                partition.snapshot_id = declared.SnapshotId()
        data = encode(message, version, version >= FLEXIBLE_SINCE)
        response = as_response(message, version)
        assert joined(encoded(version, response)) == data
        assert parse_fetch_response(memoryview(b"header" + data), 6, version) == response


@each_flexible_version
def test_tagged_fields_from_the_future_are_skipped(version: int) -> None:
    future_request, future_response = from_the_future(declared.FetchRequest), from_the_future(declared.FetchResponse)
    for seed in SEEDS:
        request = judge.random_message(future_request, version, random.Random(seed))
        assert parse_fetch(memoryview(encode(request, version, True)), 0, version) == as_request(request, version)
        response = judge.random_message(future_response, version, random.Random(seed))
        assert parse_fetch_response(memoryview(encode(response, version, True)), 0, version) == as_response(response, version)


@each_version
def test_what_is_not_in_memory_stays_a_part_of_its_own_and_counts_by_its_size(version: int) -> None:
    files = [InFile(b"a" * 700), InFile(b"b" * 20_000), InFile(b"")]
    partitions = [FetchedPartition(index, records=file) for index, file in enumerate(files)]
    parts = encoded(version, FetchResponse(topics=[FetchedTopic("t", TOPIC_ID, partitions)]))
    assert [part for part in parts if isinstance(part, InFile)] == files[:2]
    assert [type(part) for part in parts] == [bytes, InFile, bytes, InFile, bytes]
    assert size_of(parts) == len(joined(parts))
    parsed = parse_fetch_response(memoryview(joined(parts)), 0, version)
    assert [each.records for each in parsed.topics[0].partitions] == [file.content for file in files]


@each_version
def test_small_records_in_memory_are_joined_and_large_ones_are_not_copied(version: int) -> None:
    large = memoryview(b"b" * 20_000)
    partitions = [FetchedPartition(0, records=b"a" * 100), FetchedPartition(1, records=large), FetchedPartition(2, records=b"c")]
    parts = encoded(version, FetchResponse(topics=[FetchedTopic("t", TOPIC_ID, partitions)]))
    assert len(parts) == 3
    assert parts[1] is large


@each_version
def test_fetched_records_are_slices_of_the_frame(version: int) -> None:
    response = FetchResponse(topics=[FetchedTopic("t", TOPIC_ID, [FetchedPartition(0, records=b"r" * 300)])])
    frame = memoryview(joined(encoded(version, response)))
    records = parse_fetch_response(frame, 0, version).topics[0].partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame.obj


def test_a_response_without_topics_is_one_part() -> None:
    assert [type(part) for part in encoded(16, FetchResponse(error_code=70))] == [bytes]
