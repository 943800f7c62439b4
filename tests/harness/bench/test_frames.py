"""The hand-made frames are Kafka's: the broker's own codecs read them, and they read the broker's."""

import pytest
from crc32c import crc32c

from broker_impl.protocol.frames import parse_request_header
from broker_impl.protocol.produce import ProducedPartition, encode_produce_response, parse_produce, parse_produce_response
from broker_impl.storage.batch import crc_matches, parse_header
from broker_impl.storage.records import records as records_of
from harness.bench.frames import BATCH_OVERHEAD, answer_info, batch_in, produce_answer, produce_frame, record_batch


@pytest.mark.parametrize(("size", "records"), [(65_536, 64), (200, 1), (1_000_000, 1000)])
def test_a_batch_is_valid_and_not_larger_than_asked(size, records):
    batch = record_batch(size, records, 1)
    header = parse_header(batch)
    assert crc_matches(memoryview(batch), header) and header.size == len(batch)
    assert len(records_of(batch)) == header.record_count == records
    assert size * 0.9 - BATCH_OVERHEAD < len(batch) <= size


def test_the_broker_reads_the_request_as_it_was_meant():
    batch = record_batch(500, 3, 1)
    frame = memoryview(produce_frame("a-topic", 4, -1, batch))[4:]
    header = parse_request_header(frame)
    request = parse_produce(frame, header.body_position, header.api_version)
    [(name, [(index, records)])] = request.topics
    assert records is not None and (name, index, bytes(records), request.acks) == ("a-topic", 4, batch, -1)


def test_the_floor_finds_the_same_batch():
    batch = record_batch(70_000, 3, 1)
    assert bytes(batch_in(memoryview(produce_frame("floor", 0, 1, batch))[4:])) == batch


def test_an_answer_has_the_size_and_the_error_where_the_client_looks_for_them():
    answer = memoryview(produce_answer("a-topic", 3, error=7))
    info = answer_info("a-topic")
    body = encode_produce_response(9, [("a-topic", [ProducedPartition(3, 7, 0, -1, 0)])])
    assert len(answer) == info.size and bytes(answer[9:]) == body
    assert int.from_bytes(answer[info.error_at : info.error_at + 2], "big") == 7
    [(_name, [result])] = parse_produce_response(answer, 9, 9).topics
    assert (result.index, result.error_code) == (3, 7)


def test_the_same_batch_may_be_sent_again_and_again():
    batch = bytearray(record_batch(300, 1, 1))
    batch[0:8] = (99).to_bytes(8, "big")
    assert crc32c(bytes(batch[21:])) == parse_header(batch).crc
