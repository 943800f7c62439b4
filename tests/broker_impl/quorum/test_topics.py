from collections import Counter

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.commands import (
    CreatePartitions,
    CreatePartitionsReply,
    CreateTopics,
    CreateTopicsReply,
    DeleteTopics,
    DeleteTopicsReply,
    MorePartitions,
    NewTopic,
    TopicCreation,
)
from broker_impl.quorum.controller import ControllerSettings
from broker_impl.quorum.topics import TopicRules
from tests.broker_impl.quorum.cluster import SESSION_S, Cluster


def create(cluster: Cluster, *topics: NewTopic, validate_only: bool = False) -> list[TopicCreation]:
    reply = cluster.do(CreateTopics(list(topics), validate_only))
    assert isinstance(reply, CreateTopicsReply)
    return reply.results


def grow(cluster: Cluster, *topics: MorePartitions, validate_only: bool = False) -> list[int]:
    reply = cluster.do(CreatePartitions(list(topics), validate_only))
    assert isinstance(reply, CreatePartitionsReply)
    return [result.error for result in reply.results]


def test_a_topic_is_made_with_its_partitions_and_configs() -> None:
    cluster = Cluster(3)
    (result,) = create(cluster, NewTopic("a", 4, 2, configs={"retention.ms": "1"}))
    topic = cluster.image.topics["a"]
    assert (result.error, result.id, result.partitions, result.replication_factor) == (0, topic.id, 4, 2)
    assert len(topic.id) == 16
    assert sorted(topic.partitions) == [0, 1, 2, 3]
    assert all(
        p.isr == p.replicas and p.leader == p.replicas[0] and (p.leader_epoch, p.partition_epoch) == (0, 0)
        for p in topic.partitions.values()
    )
    assert cluster.image.config("topic", "a") == {"retention.ms": "1"}


def test_what_is_left_open_takes_the_default() -> None:
    cluster = Cluster(3, ControllerSettings(SESSION_S, TopicRules(default_partitions=5, default_replication_factor=3)))
    (result,) = create(cluster, NewTopic("a"))
    assert (result.partitions, result.replication_factor) == (5, 3)


def test_topics_of_one_request_stand_alone() -> None:
    cluster = Cluster(1)
    results = create(cluster, NewTopic("a"), NewTopic("b", 0), NewTopic("c"))
    assert [result.error for result in results] == [0, ErrorCode.INVALID_PARTITIONS, 0]
    assert set(cluster.image.topics) == {"a", "c"}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a b", "ä", "a\0", "a\n", "x" * 250])
def test_a_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    assert create(Cluster(1), NewTopic(name))[0].error == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["a", "...", "A-b_c.9", "x" * 249])
def test_a_legal_name_is_taken(name: str) -> None:
    assert create(Cluster(1), NewTopic(name))[0].error == 0


def test_names_that_differ_only_in_dot_and_underscore_collide() -> None:
    cluster = Cluster(1)
    errors = [result.error for result in create(cluster, NewTopic("a.b"), NewTopic("a_b"), NewTopic("a-b"))]
    assert errors == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert create(cluster, NewTopic("a_b"))[0].error == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_an_existing_name_is_refused() -> None:
    cluster = Cluster(1)
    create(cluster, NewTopic("a"))
    assert create(cluster, NewTopic("a"))[0].error == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_name_given_twice_in_one_request_is_refused_both_times() -> None:
    cluster = Cluster(1)
    assert [result.error for result in create(cluster, NewTopic("a"), NewTopic("a"))] == [ErrorCode.INVALID_REQUEST] * 2
    assert not cluster.image.topics


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("a", 0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("a", -5), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("a", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("a", 10_001), ErrorCode.POLICY_VIOLATION),
        (NewTopic("a", configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", configs={"retention.ms": "x"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", configs={"cleanup.policy": "compact"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("a", 1, -1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("a", -1, 1, [(0, [1])]), ErrorCode.INVALID_REQUEST),
        (NewTopic("a", assignment=[(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("a", assignment=[(0, [1]), (0, [2])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("a", assignment=[(0, [])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("a", assignment=[(0, [1, 1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("a", assignment=[(0, [1, 9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("a", assignment=[(0, [1, 2]), (1, [3])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_what_cannot_be_made_is_refused(topic: NewTopic, code: ErrorCode) -> None:
    cluster = Cluster(3)
    before = cluster.image
    (result,) = create(cluster, topic)
    assert result.error == code
    assert result.message
    assert cluster.image is before


def test_the_bound_on_partitions_counts_the_whole_request() -> None:
    cluster = Cluster(1, ControllerSettings(SESSION_S, TopicRules(most_partitions_a_request=10)))
    results = create(cluster, NewTopic("a", 6), NewTopic("b", 5), NewTopic("c", 4))
    assert [result.error for result in results] == [0, ErrorCode.POLICY_VIOLATION, 0]


def test_what_is_only_validated_is_not_made() -> None:
    cluster = Cluster(1)
    before = cluster.image
    results = create(cluster, NewTopic("a", 3), NewTopic("b", 0), validate_only=True)
    assert [(result.error, result.id, result.partitions) for result in results] == [(0, b"", 3), (ErrorCode.INVALID_PARTITIONS, b"", -1)]
    assert cluster.image is before


def test_a_manual_assignment_is_kept_and_led_by_its_first_live_broker() -> None:
    cluster = Cluster(3)
    cluster.fence(2)
    partition = cluster.create("a", (2, 3, 1))
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 3, 1), (3, 1), 3)


def test_a_manual_assignment_to_dead_brokers_only_is_refused() -> None:
    cluster = Cluster(3)
    cluster.fence(2)
    assert create(cluster, NewTopic("a", assignment=[(0, [2])]))[0].error == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_topics_are_made_on_live_brokers_while_others_are_down() -> None:
    cluster = Cluster(3)
    cluster.fence(2)
    assert create(cluster, NewTopic("a", 6, 3))[0].error == ErrorCode.INVALID_REPLICATION_FACTOR
    assert create(cluster, NewTopic("a", 6, 2))[0].error == 0
    assert {broker for _, partition in cluster.image.all_partitions() for broker in partition.replicas} == {1, 3}


def test_leaders_of_many_topics_of_one_partition_are_balanced() -> None:
    cluster = Cluster(3)
    create(cluster, *(NewTopic(f"t{number}", 1, 2) for number in range(30)))
    for number in range(30, 60):
        create(cluster, NewTopic(f"t{number}", 1, 2))
    assert set(Counter(partition.leader for _, partition in cluster.image.all_partitions()).values()) == {20}


def test_topics_are_deleted_by_name_and_by_id() -> None:
    cluster = Cluster(1)
    first, second, third = create(cluster, NewTopic("a"), NewTopic("b"), NewTopic("c"))
    reply = cluster.do(DeleteTopics(["a", "z", "a"], [second.id, first.id, b"z" * 16]))
    assert isinstance(reply, DeleteTopicsReply)
    assert [(result.name, result.error) for result in reply.results] == [
        ("a", 0),
        ("z", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("b", 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert dict(cluster.image.topic_names) == {third.id: "c"}


def test_a_topic_made_again_has_another_id() -> None:
    cluster = Cluster(1)
    (first,) = create(cluster, NewTopic("a"))
    cluster.do(DeleteTopics(["a"]))
    (second,) = create(cluster, NewTopic("a"))
    assert first.id != second.id


def test_a_topic_grows_by_partitions_of_its_replication_factor() -> None:
    cluster = Cluster(3)
    create(cluster, NewTopic("a", 2, 2))
    before = cluster.image.topics["a"].partitions
    assert grow(cluster, MorePartitions("a", 5)) == [0]
    after = cluster.image.topics["a"].partitions
    assert sorted(after) == [0, 1, 2, 3, 4]
    assert all(after[index] is before[index] for index in before)
    assert {len(partition.replicas) for partition in after.values()} == {2}


def test_a_topic_grows_by_manual_assignment() -> None:
    cluster = Cluster(3)
    cluster.create("a", (1, 2))
    assert grow(cluster, MorePartitions("a", 3, [[3, 1], [2, 3]])) == [0]
    assert [partition.replicas for partition in cluster.image.topics["a"].partitions.values()] == [(1, 2), (3, 1), (2, 3)]


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (MorePartitions("z", 5), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (MorePartitions("a", 2), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("a", 1), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("a", -1), ErrorCode.INVALID_PARTITIONS),
        (MorePartitions("a", 20_000), ErrorCode.POLICY_VIOLATION),
        (MorePartitions("a", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("a", 3, [[1], [2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("a", 3, [[1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (MorePartitions("a", 3, [[1, 9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_growth_that_cannot_be_is_refused(wish: MorePartitions, code: ErrorCode) -> None:
    cluster = Cluster(3)
    create(cluster, NewTopic("a", 2, 2))
    before = cluster.image
    assert grow(cluster, wish) == [code]
    assert cluster.image is before


def test_a_growth_only_validated_or_named_twice_is_not_done() -> None:
    cluster = Cluster(1)
    create(cluster, NewTopic("a"))
    before = cluster.image
    assert grow(cluster, MorePartitions("a", 2), validate_only=True) == [0]
    assert grow(cluster, MorePartitions("a", 2), MorePartitions("a", 3)) == [ErrorCode.INVALID_REQUEST] * 2
    assert cluster.image is before
