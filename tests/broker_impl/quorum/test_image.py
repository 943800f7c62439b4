import pytest

from broker_impl.quorum.image import Image, ImpossibleRecord, changed_configs, changed_topics
from broker_impl.quorum.records import (
    BrokerFenced,
    BrokerRegistered,
    BrokerStopping,
    BrokerUnfenced,
    ConfigChanged,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
    TopicDeleted,
)

A, B = b"a" * 16, b"b" * 16


def small() -> Image:
    return Image.empty().apply(
        5,
        [
            BrokerRegistered(1, 5, "run-1", "host", 9092),
            BrokerUnfenced(1, 5),
            TopicCreated("a", A),
            PartitionCreated(A, 0, (1, 2), (1,), 1, 0, 0),
            PartitionCreated(A, 1, (1,), (1,), 1, 0, 0),
            TopicCreated("b", B),
            PartitionCreated(B, 0, (1,), (1,), 1, 0, 0),
            ConfigChanged("topic", "a", "retention.ms", "1"),
            ConfigChanged("topic", "a", "flush.ms", "2"),
            ProducerIdsAllocated(1, 1000),
        ],
    )


def test_a_registered_broker_is_fenced_until_it_is_unfenced() -> None:
    image = Image.empty().apply(1, [BrokerRegistered(1, 1, "run-1", "host", 9092)])
    assert image.live_brokers() == frozenset()
    assert image.apply(2, [BrokerUnfenced(1, 1)]).live_brokers() == {1}


def test_a_stopping_broker_is_not_live() -> None:
    assert small().apply(6, [BrokerStopping(1, 5)]).live_brokers() == frozenset()


def test_a_new_registration_forgets_that_the_old_one_was_stopping() -> None:
    image = small().apply(6, [BrokerStopping(1, 5)]).apply(7, [BrokerRegistered(1, 7, "run-2", "host", 9092), BrokerUnfenced(1, 7)])
    assert image.live_brokers() == {1}


def test_a_partition_change_keeps_the_replicas() -> None:
    image = small().apply(6, [PartitionChanged(A, 0, (2,), 2, 1, 1)])
    partition = image.topics["a"].partitions[0]
    assert (partition.replicas, partition.isr, partition.leader, partition.leader_epoch) == ((1, 2), (2,), 2, 1)


def test_applying_leaves_the_old_image_as_it_was() -> None:
    old, twin = small(), small()
    old.apply(6, [PartitionChanged(A, 0, (2,), 2, 1, 1), ConfigChanged("topic", "a", "retention.ms", None), TopicDeleted(B)])
    assert old == twin


def test_what_an_entry_does_not_touch_is_shared() -> None:
    old = small()
    new = old.apply(6, [PartitionChanged(A, 0, (2,), 2, 1, 1)])
    assert new.topics["b"] is old.topics["b"]
    assert new.topics["a"].partitions[1] is old.topics["a"].partitions[1]
    assert new.brokers is old.brokers
    assert new.configs is old.configs


def test_changed_topics_names_made_changed_and_deleted_ones_only() -> None:
    old = small()
    new = old.apply(6, [PartitionChanged(A, 0, (2,), 2, 1, 1), TopicDeleted(B), TopicCreated("c", b"c" * 16)])
    assert changed_topics(old, new) == {"a", "b", "c"}
    assert changed_topics(new, new.apply(7, [BrokerFenced(1, 5)])) == set()


def test_a_topic_remade_under_its_old_name_is_changed() -> None:
    old = small()
    new = old.apply(6, [TopicDeleted(B), TopicCreated("b", b"c" * 16), PartitionCreated(b"c" * 16, 0, (1,), (1,), 1, 0, 0)])
    assert changed_topics(old, new) == {"b"}
    assert new.topic(B) is None


def test_changed_configs_names_their_resources() -> None:
    old = small()
    assert changed_configs(old, old.apply(6, [ConfigChanged("broker", "", "log.roll.ms", "1")])) == {("broker", "")}
    assert changed_configs(old, old.apply(6, [TopicDeleted(A)])) == {("topic", "a")}
    assert changed_configs(old, old.apply(6, [])) == set()


def test_a_deleted_topic_takes_its_configs_along() -> None:
    assert small().apply(6, [TopicDeleted(A)]).configs == {}


def test_a_config_removed_leaves_the_others() -> None:
    assert small().apply(6, [ConfigChanged("topic", "a", "flush.ms", None)]).config("topic", "a") == {"retention.ms": "1"}


def test_an_image_survives_its_snapshot() -> None:
    image = small().apply(6, [ConfigChanged("broker", "1", "log.roll.ms", "1"), BrokerStopping(1, 5)])
    assert Image.decode(image.encode()) == image


def test_a_torn_snapshot_is_refused() -> None:
    with pytest.raises(ImpossibleRecord):
        Image.decode(small().encode()[:-1])


def test_an_entry_is_applied_once() -> None:
    with pytest.raises(ImpossibleRecord):
        small().apply(5, [])


@pytest.mark.parametrize(
    "record",
    [
        BrokerFenced(1, 4),
        BrokerUnfenced(9, 1),
        BrokerRegistered(1, 5, "run-2", "host", 9092),
        TopicCreated("a", b"z" * 16),
        TopicCreated("z", A),
        TopicDeleted(b"z" * 16),
        PartitionCreated(b"z" * 16, 0, (1,), (1,), 1, 0, 0),
        PartitionCreated(A, 3, (1,), (1,), 1, 0, 0),
        PartitionChanged(A, 9, (1,), 1, 0, 1),
        PartitionChanged(A, 0, (1,), 1, 0, 0),
        PartitionChanged(A, 0, (), -1, 1, 1),
        PartitionChanged(A, 0, (3,), 3, 1, 1),
        PartitionChanged(A, 0, (2,), 1, 1, 1),
        PartitionChanged(A, 0, (1,), 1, -1, 1),
        ProducerIdsAllocated(1, 1000),
    ],
)
def test_a_record_that_contradicts_the_image_is_refused(record: Record) -> None:
    with pytest.raises(ImpossibleRecord):
        small().apply(6, [record])
