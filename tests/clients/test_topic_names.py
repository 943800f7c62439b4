"""Topics that do not exist, topics that come to be by being named, and names that cannot be topics."""

from __future__ import annotations

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.messages.list_offsets import (
    LATEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from broker_impl.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.clients.confluent_client import ConfluentClient
from tests.clients.interface import LOCAL, Client, Message, NewTopic, Refused
from tests.clients.kafka_python_client import KafkaPythonClient
from tests.clients.running import Running
from tests.clients.wire import batch_of

IMPOSSIBLE = {"slash": "a/b", "path": "../etc", "dots": "..", "dot": ".", "long": "x" * 250, "space": "white space", "letter": "näme"}


def test_a_topic_is_made_by_producing_to_it(client: Client, running: Running) -> None:
    topic = running.unused_name()
    assert client.produce(topic, [Message(b"value")]) == [0]
    running.wait_known(topic)
    (place,) = client.describe(topic)
    assert len(place.replicas) == len(running.nodes)


@pytest.mark.parametrize("name", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_no_topic_is_made_of_an_impossible_name(client: Client, running: Running, name: str) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(NewTopic(name))
    assert refusal.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert name not in client.topics()


@pytest.mark.parametrize("client", [ConfluentClient, KafkaPythonClient], ids=lambda library: library.name, indirect=True)
@pytest.mark.parametrize("name", ["a/b", "..", "x" * 250], ids=["slash", "dots", "long"])
def test_producing_to_an_impossible_name_fails_and_makes_nothing(client: Client, running: Running, name: str) -> None:
    """Not with aiokafka: it asks again until its time is up, whatever the broker answers."""
    with pytest.raises(Refused) as refusal:
        client.produce(name, [Message(b"value")])
    assert refusal.value.code in (ErrorCode.INVALID_TOPIC_EXCEPTION, LOCAL)
    assert name not in client.topics()


@pytest.mark.parametrize("name", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_auto_creation_refuses_an_impossible_name(running: Running, name: str) -> None:
    with running.wire() as wire:
        answer = wire.ask(MetadataRequest([MetadataRequestTopic(name=name)]), MetadataResponse)
    assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_only_in_dots_and_underscores_collide(client: Client, running: Running) -> None:
    stem = running.unused_name()
    client.create_topic(NewTopic(f"{stem}.x"))
    with pytest.raises(Refused) as refusal:
        client.create_topic(NewTopic(f"{stem}_x"))
    assert refusal.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("known_topic", [False, True], ids=["topic", "partition"])
def test_an_unknown_topic_or_partition_is_named_as_such(running: Running, known_topic: bool) -> None:
    topic = running.new_topic() if known_topic else running.unused_name()
    partition = 7
    with running.wire() as wire:
        assert wire.produce(topic, batch_of(b"value"), partition=partition).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert wire.fetch(topic, 0, partition=partition).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, LATEST)])
        answer = wire.ask(ListOffsetsRequest(topics=[wanted]), ListOffsetsResponse)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_nobody_may_create_stays_unknown(running: Running) -> None:
    topic = running.unused_name()
    assert running.topic(topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert running.topic(topic).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
