"""What a producer sends is what a consumer gets: every codec, every shape of message, every size."""

from __future__ import annotations

import time

import pytest

from broker_impl.protocol.errors import ErrorCode
from tests.clients.confluent_client import ConfluentClient
from tests.clients.interface import LOCAL, Client, Message, Refused
from tests.clients.running import Running
from tests.clients.wire import first_header

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_makes_the_round_trip(client: Client, running: Running, codec: str) -> None:
    topic = running.new_topic()
    values = [b"%d " % index + b"compressible " * 40 for index in range(50)]
    assert client.produce(topic, [Message(value) for value in values], codec=codec) == list(range(50))
    assert [each.value for each in client.consume(topic, 50)] == values
    with running.wire_to_leader(topic) as wire:
        assert first_header(wire.fetch(topic, 0)).codec == CODECS.index(codec), "stored as the producer compressed it"


def test_what_librdkafka_compressed_every_library_reads(client: Client, running: Running) -> None:
    topic = running.new_topic()
    writer = ConfluentClient(running.bootstrap)
    for codec in CODECS:
        writer.produce(topic, [Message(codec.encode() * 100)], codec=codec)
    assert [each.value for each in client.consume(topic, len(CODECS))] == [codec.encode() * 100 for codec in CODECS]


def test_keys_headers_tombstones_and_empty_values_arrive_as_they_were_sent(client: Client, running: Running) -> None:
    topic = running.new_topic()
    sent = [
        Message(b"value", b"key", (("one", b"1"), ("two", b"\x00\xff"), ("one", b"again"))),
        Message(None, b"key"),
        Message(b"", b""),
        Message(b"value", None),
        Message(b"value", b"key", (("empty", b""), ("größe", b"1"))),
    ]
    client.produce(topic, sent)
    got = client.consume(topic, len(sent))
    assert [(each.value, each.key, each.headers) for each in got] == [(each.value, each.key, each.headers) for each in sent]


def test_a_header_without_a_value_stays_without(client: Client, running: Running) -> None:
    topic = running.new_topic()
    ConfluentClient(running.bootstrap).produce(topic, [Message(b"value", headers=(("null", None),))])
    assert client.consume(topic, 1)[0].headers == (("null", None),)


def test_the_producers_timestamps_are_kept(client: Client, running: Running) -> None:
    topic = running.new_topic()
    now = int(time.time() * 1000)
    stamps = [now - 5000, now, now - 9000]
    client.produce(topic, [Message(b"value", timestamp=stamp) for stamp in stamps])
    got = client.consume(topic, 3)
    assert [(each.timestamp, each.log_append_time) for each in got] == [(stamp, False) for stamp in stamps]


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_topic_may_have_the_brokers_timestamps_instead(client: Client, running: Running, codec: str) -> None:
    topic = running.new_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    client.produce(topic, [Message(b"value" * 50, timestamp=1234)], codec=codec)
    after = int(time.time() * 1000)
    (got,) = client.consume(topic, 1)
    assert got.log_append_time and before <= got.timestamp <= after


def test_a_timestamp_hours_ahead_is_refused(client: Client, running: Running) -> None:
    topic = running.new_topic()
    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Message(b"value", timestamp=int(time.time() * 1000) + 2 * 3_600_000)])
    assert refusal.value.code == ErrorCode.INVALID_TIMESTAMP


def test_a_message_of_nearly_a_megabyte_makes_the_round_trip(client: Client, running: Running) -> None:
    topic = running.new_topic()
    value = bytes(range(256)) * 3900
    client.produce(topic, [Message(b"before"), Message(value), Message(b"after")])
    assert [each.value for each in client.consume(topic, 3)] == [b"before", value, b"after"]


def test_a_topic_may_take_larger_messages(client: Client, running: Running) -> None:
    topic = running.new_topic(max_message_bytes=6_000_000)
    value = bytes(range(250)) * 20_000
    client.produce(topic, [Message(value)], largest=5_500_000)
    assert client.consume(topic, 1)[0].value == value


def test_a_message_larger_than_the_topic_takes_is_refused_and_nothing_is_stored(client: Client, running: Running) -> None:
    topic = running.new_topic(max_message_bytes=10_000)
    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Message(b"x" * 20_000)])
    assert refusal.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert client.ends(topic) == (0, 0)


def test_a_message_larger_than_the_client_allows_never_leaves_it(client: Client, running: Running) -> None:
    topic = running.new_topic()
    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Message(b"x" * 20_000)], largest=10_000)
    assert refusal.value.code in (LOCAL, ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_every_kind_of_acknowledgement_stores_in_order(client: Client, running: Running, acks: int) -> None:
    topic = running.new_topic()
    values = [b"%d" % index for index in range(20)]
    offsets = client.produce(topic, [Message(value) for value in values], acks=acks)
    assert acks == 0 or offsets == list(range(20))
    assert [each.value for each in client.consume(topic, 20)] == values


def test_partitions_are_apart(client: Client, running: Running) -> None:
    topic = running.new_topic(partitions=3)
    for partition in range(3):
        client.produce(topic, [Message(b"%d" % partition)] * (partition + 1), partition=partition)
    assert [client.ends(topic, partition) for partition in range(3)] == [(0, 1), (0, 2), (0, 3)]
    assert [each.value for each in client.consume(topic, 3, partition=2)] == [b"2"] * 3


def test_replicas_hold_the_same_bytes(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"%d" % index * 100) for index in range(100)], codec="gzip")
    running.wait_in_sync(topic)
    stored = {(running.folder(topic, node=node) / ("0" * 20 + ".log")).read_bytes() for node in running.nodes}
    assert len(stored) == 1
