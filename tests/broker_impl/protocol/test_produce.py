"""The hot Produce codec against declared messages, which test_messages.py holds against kio."""

import random
from dataclasses import replace
from typing import Any

import pytest

from broker_impl.protocol.endpoints import NodeEndpoint
from broker_impl.protocol.produce import (
    FLEXIBLE_SINCE,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
    encode_produce_request,
    encode_produce_response,
    parse_produce,
    parse_produce_response,
)
from broker_impl.protocol.schema import encode
from broker_impl.protocol.wire import MalformedRequest
from tests.broker_impl.protocol import declared, judge
from tests.broker_impl.protocol.future import from_the_future

SEEDS = range(60)
each_version = pytest.mark.parametrize("version", range(3, 11))
each_flexible_version = pytest.mark.parametrize("version", range(FLEXIBLE_SINCE, 11))


def as_request(message: Any) -> ProduceRequest:
    topics = [(topic.name, [(each.index, each.records) for each in topic.partition_data]) for topic in message.topic_data]
    return ProduceRequest(message.transactional_id, message.acks, message.timeout_ms, topics)


def as_response(message: Any) -> ProduceResponse:
    topics = [(topic.name, [as_partition(each) for each in topic.partition_responses]) for topic in message.responses]
    endpoints = [NodeEndpoint(each.node_id, each.host, each.port, each.rack) for each in message.node_endpoints]
    return ProduceResponse(topics, message.throttle_time_ms, endpoints)


def as_partition(message: Any) -> ProducedPartition:
    leader = (message.current_leader.leader_id, message.current_leader.leader_epoch)
    return ProducedPartition(
        message.index,
        message.error_code,
        message.base_offset,
        message.log_append_time,
        message.log_start_offset,
        [(each.batch_index, each.batch_index_error_message) for each in message.record_errors],
        message.error_message,
        None if leader == (-1, -1) else leader,
    )


@each_version
def test_requests_are_written_and_read_as_declared(version: int) -> None:
    for seed in SEEDS:
        message = judge.random_message(declared.ProduceRequest, version, random.Random(seed))
        data = encode(message, version, version >= FLEXIBLE_SINCE)
        assert encode_produce_request(version, as_request(message)) == data
        assert parse_produce(memoryview(b"header" + data), 6, version) == as_request(message)


@each_version
def test_responses_are_written_and_read_as_declared(version: int) -> None:
    for seed in SEEDS:
        message = judge.random_message(declared.ProduceResponse, version, random.Random(seed))
        data = encode(message, version, version >= FLEXIBLE_SINCE)
        response = as_response(message)
        assert encode_produce_response(version, response.topics, response.throttle_time_ms, response.node_endpoints) == data
        parsed = parse_produce_response(memoryview(b"header" + data), 6, version)
        for _, partitions in parsed.topics:
            for partition in partitions:
                partition.record_errors = list(partition.record_errors)
        assert parsed == response


@each_flexible_version
def test_tagged_fields_from_the_future_are_skipped(version: int) -> None:
    future_request, future_response = from_the_future(declared.ProduceRequest), from_the_future(declared.ProduceResponse)
    for seed in SEEDS:
        request = judge.random_message(future_request, version, random.Random(seed))
        assert parse_produce(memoryview(encode(request, version, True)), 0, version) == as_request(request)
        response = judge.random_message(future_response, version, random.Random(seed))
        assert parse_produce_response(memoryview(encode(response, version, True)), 0, version) == as_response(response)


SINGLES = [
    ProduceRequest(None, 1, 30_000, [("t", [(7, memoryview(b"r" * size))])]) for size in (0, 1, 61, 126, 127, 128, 16_382, 16_383, 20_000)
] + [ProduceRequest(None, -1, 1, [("n" * length, [(0, memoryview(b"r"))])]) for length in (0, 1, 125, 126, 127, 249)]


@each_version
@pytest.mark.parametrize("request_", SINGLES)
def test_a_request_of_one_batch_is_read_whatever_its_lengths_and_nothing_less_of_it_is(version: int, request_: ProduceRequest) -> None:
    frame = memoryview(b"header" + encode_produce_request(version, request_))
    assert parse_produce(frame, 6, version) == request_
    for end in {*range(6, min(60, len(frame))), *range(len(frame) - 4, len(frame))}:
        with pytest.raises(MalformedRequest):
            parse_produce(frame[:end], 6, version)


@each_version
def test_a_request_of_one_partition_that_is_not_plain_is_read_as_any_other(version: int) -> None:
    for request in (
        ProduceRequest("id", -1, 1, [("t", [(0, memoryview(b"r"))])]),
        ProduceRequest(None, -1, 1, [("t", [(0, None)])]),
        ProduceRequest(None, -1, 1, [("t", [])]),
        ProduceRequest(None, -1, 1, []),
    ):
        assert parse_produce(memoryview(encode_produce_request(version, request)), 0, version) == request


@each_flexible_version
def test_the_answer_to_one_stored_batch_is_that_of_one_among_others(version: int) -> None:
    """Its short way writes the same bytes: what stands around a partition is the same in both."""
    stored, other = ProducedPartition(3, 0, 1 << 40, -1, 17), ProducedPartition(4, 0, 5, 6, 0)
    alone = encode_produce_response(version, [("topic", [stored])])
    both = encode_produce_response(version, [("topic", [stored, other])])
    assert parse_produce_response(memoryview(alone), 0, version).topics == [("topic", [stored_with_lists(stored)])]
    assert parse_produce_response(memoryview(both), 0, version).topics[0][1][0] == stored_with_lists(stored)


def stored_with_lists(partition: ProducedPartition) -> ProducedPartition:
    return replace(partition, record_errors=[])


@each_version
def test_records_are_slices_of_the_frame_and_stay_writable(version: int) -> None:
    request = ProduceRequest(None, -1, 1000, [("t", [(0, memoryview(b"r" * 300)), (1, memoryview(b""))])])
    frame = memoryview(bytearray(encode_produce_request(version, request)))
    records = parse_produce(frame, 0, version).topics[0][1][0][1]
    assert records is not None
    records[0:3] = b"new"
    assert records.obj is frame.obj
    assert b"newrrr" in bytes(frame)


@each_version
def test_hints_are_left_out_of_versions_without_them(version: int) -> None:
    hinted = [("t", [ProducedPartition(0, error_code=6, current_leader=(3, 9))])]
    endpoints = [NodeEndpoint(3, "localhost", 9092)]
    parsed = parse_produce_response(memoryview(encode_produce_response(version, hinted, 0, endpoints)), 0, version)
    expected = (None, []) if version < 10 else ((3, 9), endpoints)
    assert (parsed.topics[0][1][0].current_leader, parsed.node_endpoints) == expected


@pytest.mark.parametrize("length", ["fffe", "8000", "7fff"])
def test_a_transactional_id_of_an_impossible_length_is_malformed(length: str) -> None:
    with pytest.raises(MalformedRequest):
        parse_produce(memoryview(bytes.fromhex(length) + bytes(20)), 0, 3)
