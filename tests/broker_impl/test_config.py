"""Settings: Kafka's names, and mistakes that are named."""

import pytest

from broker_impl.config import Address, ConfigError, load_config

LEAST = {"node.id": 1, "listeners": "PLAINTEXT://127.0.0.1:9092", "log.dirs": "/data"}


def test_nested_tables_and_dotted_names_mean_the_same() -> None:
    nested = {"node": {"id": 1}, "listeners": "PLAINTEXT://127.0.0.1:9092", "log": {"dirs": "/data", "segment": {"bytes": 1_048_576}}}
    dotted = LEAST | {"log.segment.bytes": "1048576"}
    assert load_config(nested) == load_config(dotted)


def test_a_node_alone_is_its_own_quorum() -> None:
    assert load_config(LEAST).voters == ((1, Address("127.0.0.1", 9092)),)


def test_voters_are_read_and_sorted() -> None:
    config = load_config(LEAST | {"controller.quorum.voters": "3@c:3, 1@a:1,2@b:2"})
    assert config.voters == ((1, Address("a", 1)), (2, Address("b", 2)), (3, Address("c", 3)))


def test_defaults_of_topics_are_kept_under_the_names_of_topics() -> None:
    config = load_config(LEAST | {"min.insync.replicas": 2, "log.retention.hours": 1, "unclean.leader.election.enable": True})
    assert config.topic_defaults == {
        "min.insync.replicas": "2",
        "retention.ms": "3600000",
        "unclean.leader.election.enable": "true",
    }


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"brokr.session.timeout.ms": 1000}, "did you mean 'broker.session.timeout.ms'"),
        ({"node.id": "one"}, "'node.id' cannot be 'one'"),
        ({"node.id": -1}, "'node.id' must be at least 0"),
        ({"node.id": True}, "'node.id' cannot be 'true'"),
        ({"auto.create.topics.enable": "maybe"}, "'auto.create.topics.enable' cannot be 'maybe'"),
        ({"listeners": "SSL://h:1"}, "PLAINTEXT only"),
        ({"listeners": "nowhere"}, "'listeners' cannot be 'nowhere'"),
        ({"listeners": "PLAINTEXT://h:99999"}, "'listeners' cannot be"),
        ({"listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "one listener"),
        ({"log.dirs": "/a,/b"}, "one directory"),
        ({"process.roles": "broker,janitor"}, "a list of 'broker' and 'controller'"),
        ({"process.roles": "broker"}, "exactly when 'process.roles' has 'controller'"),
        ({"controller.quorum.voters": "2@b:2"}, "exactly when 'process.roles' has 'controller'"),
        ({"broker.heartbeat.interval.ms": 9000}, "at most half"),
        ({"log.segment.bytes": "many"}, "'log.segment.bytes'"),
        ({"log.level": "loud"}, "'log.level' cannot be 'loud'"),
    ],
)
def test_a_mistake_is_named(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(LEAST | given)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", sorted(LEAST))
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"the setting '{name}' is missing"):
        load_config({known: value for known, value in LEAST.items() if known != name})
