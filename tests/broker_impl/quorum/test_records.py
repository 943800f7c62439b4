import msgspec
import pytest

from broker_impl.quorum.records import (
    BrokerFenced,
    BrokerRegistered,
    BrokerStopping,
    BrokerUnfenced,
    ConfigChanged,
    MalformedRecords,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
    TopicDeleted,
    decode_records,
    encode_records,
)

TOPIC = bytes(range(16))
ONE_OF_EACH: list[Record] = [
    BrokerRegistered(1, 7, "run-1", "host", 9092, "rack-a"),
    BrokerRegistered(2, 8, "run-2", "host", 9093),
    BrokerFenced(1, 7),
    BrokerUnfenced(1, 7),
    BrokerStopping(1, 7),
    TopicCreated("orders", TOPIC),
    PartitionCreated(TOPIC, 0, (1, 2), (1,), 1, 0, 0),
    PartitionChanged(TOPIC, 0, (2,), -1, 1, 1),
    ConfigChanged("topic", "orders", "retention.ms", "1000"),
    ConfigChanged("broker", "", "log.retention.ms", None),
    ProducerIdsAllocated(1, 1000),
    TopicDeleted(TOPIC),
]


def test_every_record_survives_the_log() -> None:
    assert decode_records(encode_records(ONE_OF_EACH)) == ONE_OF_EACH


def test_an_empty_payload_holds_no_records() -> None:
    assert decode_records(b"") == []


def test_a_record_of_an_unknown_kind_is_named() -> None:
    with pytest.raises(MalformedRecords, match="PartitionMelted"):
        decode_records(msgspec.msgpack.encode([["PartitionMelted", 1]]))


def test_a_torn_entry_is_refused() -> None:
    with pytest.raises(MalformedRecords):
        decode_records(encode_records(ONE_OF_EACH)[:-1])


def test_a_field_added_by_a_later_version_is_passed_over() -> None:
    payload = msgspec.msgpack.encode([["BrokerFenced", 1, 7, "new"]])
    assert decode_records(payload) == [BrokerFenced(1, 7)]
