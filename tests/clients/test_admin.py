"""What an administrator asks: topics made, grown, changed and deleted, leaders moved, the cluster described."""

from __future__ import annotations

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from broker_impl.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.clients.aiokafka_client import AiokafkaClient
from tests.clients.confluent_client import ConfluentClient
from tests.clients.conftest import THREE_NODES
from tests.clients.interface import Client, Message, NewTopic, Operator, Refused
from tests.clients.kafka_python_client import KafkaPythonClient
from tests.clients.running import Running, wait_until

OPERATORS = pytest.mark.parametrize("client", [ConfluentClient, KafkaPythonClient], ids=lambda library: library.name, indirect=True)
TELLS_CONFIG_ERRORS = pytest.mark.parametrize("client", [ConfluentClient, AiokafkaClient], ids=lambda library: library.name, indirect=True)


def test_a_topic_has_the_partitions_and_replicas_asked_for(client: Client, running: Running) -> None:
    topic = running.unused_name()
    client.create_topic(NewTopic(topic, partitions=4, replicas=len(running.nodes)))
    running.wait_known(topic, 4)
    assert topic in client.topics()
    places = client.describe(topic)
    assert [place.index for place in places] == [0, 1, 2, 3]
    assert all(sorted(place.replicas) == running.nodes and place.leader in running.nodes for place in places)


def test_leaders_are_spread(client: Client, running: Running) -> None:
    topic = running.unused_name()
    client.create_topic(NewTopic(topic, partitions=2 * len(running.nodes), replicas=1))
    running.wait_known(topic, 2 * len(running.nodes))
    assert {place.replicas[0] for place in client.describe(topic)} == set(running.nodes)


def test_replicas_may_be_placed_by_hand(client: Client, running: Running) -> None:
    topic, backwards = running.unused_name(), list(reversed(running.nodes))
    client.create_topic(NewTopic(topic, assignment={0: backwards, 1: running.nodes}))
    running.wait_known(topic, 2)
    assert [place.replicas for place in client.describe(topic)] == [tuple(backwards), tuple(running.nodes)]
    assert client.describe(topic)[0].leader == backwards[0]


def test_what_is_left_open_gets_the_clusters_defaults(client: Client, running: Running) -> None:
    topic = running.unused_name()
    client.create_topic(NewTopic(topic))
    running.wait_known(topic)
    (place,) = client.describe(topic)
    assert len(place.replicas) == len(running.nodes)


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (NewTopic("refused", partitions=1, replicas=9), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("refused", assignment={0: [77]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("refused", assignment={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("refused", configs={"no.such.setting": "1"}), ErrorCode.INVALID_CONFIG),
        (NewTopic("refused", configs={"retention.ms": "for ever"}), ErrorCode.INVALID_CONFIG),
    ],
    ids=["too-many-replicas", "unknown-broker", "a-broker-twice", "unknown-setting", "bad-value"],
)
def test_a_topic_that_cannot_be_is_refused(client: Client, running: Running, wish: NewTopic, code: ErrorCode) -> None:
    with pytest.raises(Refused) as refusal:
        client.create_topic(wish)
    assert refusal.value.code == code
    assert wish.name not in client.topics()


def test_a_topic_exists_once(client: Client, running: Running) -> None:
    topic = running.unused_name()
    client.create_topic(NewTopic(topic))
    with pytest.raises(Refused) as refusal:
        client.create_topic(NewTopic(topic))
    assert refusal.value.code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_deleted_topic_is_gone_and_a_new_one_of_its_name_is_empty(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"old")])
    client.delete_topic(topic)
    running.wait_known(topic, 0)
    assert topic not in client.topics()
    client.create_topic(NewTopic(topic))
    running.wait_known(topic)
    running.wait_for_leader(topic)
    assert client.ends(topic) == (0, 0)
    client.produce(topic, [Message(b"new")])
    assert client.consume(topic, 1)[0].value == b"new"


def test_a_topic_that_does_not_exist_cannot_be_deleted_or_grown(client: Client, running: Running) -> None:
    with pytest.raises(Refused) as refusal:
        client.delete_topic(running.unused_name())
    assert refusal.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(Refused) as refusal:
        client.add_partitions(running.unused_name(), 3)
    assert refusal.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_grows_and_keeps_what_it_has(client: Client, running: Running) -> None:
    topic = running.new_topic()
    client.produce(topic, [Message(b"old")])
    client.add_partitions(topic, 3)
    running.wait_known(topic, 3)
    assert len(client.describe(topic)) == 3
    running.wait_for_leader(topic, 2)
    client.produce(topic, [Message(b"new")], partition=2)
    assert client.consume(topic, 1)[0].value == b"old"
    assert client.consume(topic, 1, partition=2)[0].value == b"new"


def test_new_partitions_may_be_placed_by_hand(client: Client, running: Running) -> None:
    topic, backwards = running.new_topic(), list(reversed(running.nodes))
    client.add_partitions(topic, 2, [backwards])
    running.wait_known(topic, 2)
    assert client.describe(topic)[1].replicas == tuple(backwards)


def test_a_topic_cannot_shrink(client: Client, running: Running) -> None:
    topic = running.new_topic(partitions=3)
    with pytest.raises(Refused) as refusal:
        client.add_partitions(topic, 2)
    assert refusal.value.code == ErrorCode.INVALID_PARTITIONS


def test_settings_are_those_given_and_the_defaults(client: Client, running: Running) -> None:
    topic = running.unused_name()
    client.create_topic(NewTopic(topic, configs={"retention.ms": "123456", "segment.bytes": "20000"}))
    running.wait_known(topic)
    configs = client.configs(topic)
    assert configs["retention.ms"] == "123456"
    assert configs["segment.bytes"] == "20000"
    assert configs["cleanup.policy"] == "delete"
    assert configs["min.insync.replicas"] == ("2" if len(running.nodes) == 3 else "1")


@TELLS_CONFIG_ERRORS
def test_an_unknown_topic_has_no_settings(client: Client, running: Running) -> None:
    with pytest.raises(Refused) as refusal:
        client.configs(running.unused_name())
    assert refusal.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@OPERATORS
def test_one_setting_changes_and_the_others_stay(client: Operator, running: Running) -> None:
    topic = running.new_topic(retention_ms=123456)
    client.set_config(topic, "max.message.bytes", "5000")
    assert (client.configs(topic)["max.message.bytes"], client.configs(topic)["retention.ms"]) == ("5000", "123456")
    client.set_config(topic, "retention.ms", None)
    assert (client.configs(topic)["max.message.bytes"], client.configs(topic)["retention.ms"]) == ("5000", "604800000")


@OPERATORS
def test_a_changed_setting_is_obeyed(client: Operator, running: Running) -> None:
    topic = running.new_topic()
    client.set_config(topic, "max.message.bytes", "5000")

    def obeyed() -> bool:
        try:
            client.produce(topic, [Message(b"x" * 10_000)])
        except Refused as refusal:
            return refusal.code == ErrorCode.MESSAGE_TOO_LARGE
        return False

    wait_until(obeyed, "the leader to heed the new limit")


@OPERATORS
@pytest.mark.parametrize(("key", "value"), [("no.such.setting", "1"), ("retention.ms", "for ever"), ("cleanup.policy", "shred")])
def test_a_setting_that_makes_no_sense_is_refused(client: Operator, running: Running, key: str, value: str) -> None:
    topic = running.new_topic()
    with pytest.raises(Refused) as refusal:
        client.set_config(topic, key, value)
    assert refusal.value.code == ErrorCode.INVALID_CONFIG


def test_the_cluster_is_described(client: Client, running: Running) -> None:
    wait_until(lambda: client.brokers() == (running.cluster.controller(), set(running.nodes)), "all to agree on the cluster")


def test_every_broker_tells_the_same_about_the_cluster(running: Running) -> None:
    def told(node: int) -> tuple[str | None, int, tuple[int, ...]]:
        with running.wire(node) as wire:
            answer = wire.ask(MetadataRequest([]), MetadataResponse)
        return answer.cluster_id, answer.controller_id, tuple(sorted(broker.port for broker in answer.brokers))

    ports = tuple(sorted(node.port for node in running.cluster.plan.nodes))
    cluster = running.cluster.plan.cluster_id
    wait_until(
        lambda: {told(node) for node in running.nodes} == {(cluster, running.cluster.controller(), ports)}, "all brokers to tell the same"
    )


@OPERATORS
def test_a_leader_that_leads_already_need_not_be_elected(client: Operator, running: Running) -> None:
    topic = running.new_topic()
    with pytest.raises(Refused) as refusal:
        client.elect_preferred(topic, 0)
    assert refusal.value.code == ErrorCode.ELECTION_NOT_NEEDED


@OPERATORS
def test_an_unknown_partition_has_no_election(client: Operator, running: Running) -> None:
    with pytest.raises(Refused) as refusal:
        client.elect_preferred(running.unused_name(), 0)
    assert refusal.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@THREE_NODES
@OPERATORS
def test_leadership_goes_back_to_the_preferred_replica(client: Operator, running: Running) -> None:
    preferred = next(node for node in running.nodes if node != running.cluster.controller())
    others = [node for node in running.nodes if node != preferred]
    topic = running.new_topic(replicas=[preferred, *others])
    running.stop(preferred)
    wait_until(lambda: running.leader(topic) in others, "another replica to lead")
    running.start(preferred)
    running.wait_in_sync(topic)
    client.elect_preferred(topic, 0)
    assert client.describe(topic)[0].leader == preferred


@pytest.mark.parametrize("client", [KafkaPythonClient], ids=lambda library: library.name, indirect=True)
def test_the_quorum_is_described(client: KafkaPythonClient, running: Running) -> None:
    wait_until(lambda: client.quorum() == (running.cluster.controller(), set(running.nodes)), "all to agree on the quorum")


@pytest.mark.parametrize("version", range(5))
def test_no_coordinator_is_available_yet(running: Running, version: int) -> None:
    with running.wire() as wire:
        answer = wire.ask(FindCoordinatorRequest("group", 0, ["group"]), FindCoordinatorResponse, version)
    codes = [answer.error_code] if version < 4 else [each.error_code for each in answer.coordinators]
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
