"""Where a consumer may begin, what it is told about a partition's ends, and that waiting for news costs nothing but the wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from broker_impl.protocol.errors import ErrorCode
from tests.clients.interface import Client, Message, Refused
from tests.clients.running import Running, wait_until
from tests.clients.wire import batch_of

LONGER_THAN_ANY_TEST_MS = 300_000
TEN = [b"%d" % index for index in range(10)]
START = 1_700_000_000_000


def test_a_partition_has_a_beginning_and_an_end(client: Client, running: Running) -> None:
    topic = running.new_topic()
    assert client.ends(topic) == (0, 0)
    client.produce(topic, [Message(value) for value in TEN])
    assert client.ends(topic) == (0, 10)


def test_reading_may_begin_in_the_middle_of_a_batch(client: Client, running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        assert wire.produce(topic, batch_of(*TEN)).error_code == ErrorCode.NONE
    assert [(each.offset, each.value) for each in client.consume(topic, 4, offset=6)] == list(enumerate(TEN))[6:]


def test_a_consumer_may_seek_to_and_fro(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(value) for value in TEN])
    with client.reader(topic, 5) as reader:
        assert [each.offset for each in reader.read(3)] == [5, 6, 7]
        reader.seek(1)
        assert [each.offset for each in reader.read(2)] == [1, 2]
        reader.seek(9)
        assert [each.offset for each in reader.read(1)] == [9]


def test_small_fetches_read_across_segments(client: Client, running: Running) -> None:
    """The consumers ask for 4 KB at a time, here from segments of 20 KB, with batches larger than what they ask for."""
    topic = running.new_topic(segment_bytes=20_000)
    values = [b"%d " % index * 1500 for index in range(20)]
    with running.wire_to_leader(topic) as wire:
        for value in values:
            assert wire.produce(topic, batch_of(value), acks=1).error_code == ErrorCode.NONE
    assert len(list(running.folder(topic).glob("*.log"))) > 3
    assert [each.value for each in client.consume(topic, len(values))] == values


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_time_leads_to_the_first_message_not_before_it(client: Client, running: Running, codec: str) -> None:
    topic = running.new_topic()
    for index in range(5):
        client.produce(topic, [Message(b"value" * 50, timestamp=START + 1000 * index)], codec=codec)
    assert client.offset_at(topic, START - 1) == 0
    assert client.offset_at(topic, START + 2000) == 2
    assert client.offset_at(topic, START + 2001) == 3
    assert client.offset_at(topic, START + 4000) == 4


def test_no_message_is_as_late_as_a_time_to_come(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"value", timestamp=START)])
    assert client.offset_at(topic, START + 1) in (None, 1), "nothing, or the end: librdkafka says the latter"


def test_a_time_is_found_inside_a_batch(client: Client, running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        assert wire.produce(topic, batch_of(*TEN, timestamp=START)).error_code == ErrorCode.NONE
    assert client.offset_at(topic, START + 7) == 7


def test_an_offset_past_the_end_is_out_of_range(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"value")])
    with client.reader(topic, 50) as reader, pytest.raises(Refused) as refusal:
        reader.read(1)
    assert refusal.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_consumer_that_may_begins_anew_where_its_offset_is_out_of_range(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"first"), Message(b"second")])
    with client.reader(topic, 50, reset="earliest") as reader:
        assert [each.offset for each in reader.read(2)] == [0, 1]


def test_a_waiting_fetch_wakes_when_something_comes(client: Client, running: Running) -> None:
    """The consumer lets the broker wait longer than the test has patience: only being woken can end it."""
    topic = running.new_topic()
    client.produce(topic, [Message(b"old")])
    leader = running.leader(topic)
    fetches = running.metric("fetch_requests_total", leader)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_read_two, client, topic)
        wait_until(lambda: reading.done() or running.metric("fetch_requests_total", leader) >= fetches + 2, "the consumer to fetch again")
        client.produce(topic, [Message(b"new")])
        assert reading.result() == [b"old", b"new"]


def _read_two(client: Client, topic: str) -> list[bytes | None]:
    with client.reader(topic, 0, max_wait_ms=LONGER_THAN_ANY_TEST_MS) as reader:
        return [each.value for each in reader.read(2)]
