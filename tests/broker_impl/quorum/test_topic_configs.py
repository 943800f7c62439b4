import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import ConfigChanged
from broker_impl.quorum.topic_configs import (
    TOPIC_CONFIGS,
    ConfigSource,
    InvalidTopicConfig,
    broker_names,
    describe,
    effective,
    in_milliseconds,
    parse,
    parse_broker,
    unclean_election_allowed,
)


def image_with(*configs: tuple[str, str, str, str]) -> Image:
    return Image.empty().apply(1, [ConfigChanged(*config) for config in configs])


def test_every_default_is_a_legal_value() -> None:
    for name, config in TOPIC_CONFIGS.items():
        parse(name, config.default)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.mss", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("retention.ms", "1_000"),
        ("retention.ms", "9" * 5000),
        ("retention.ms", "\u0663"),
        ("retention.ms", "9223372036854775808"),
        ("segment.bytes", "0"),
        ("min.insync.replicas", "0"),
        ("unclean.leader.election.enable", "yes"),
        ("message.timestamp.type", "Whenever"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("cleanup.policy", ""),
    ],
)
def test_an_unknown_name_or_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidTopicConfig) as refusal:
        parse(name, text)
    assert refusal.value.code == ErrorCode.INVALID_CONFIG
    assert name in str(refusal.value)


@pytest.mark.parametrize("text", ["compact", "compact,delete", "delete, compact"])
def test_compaction_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InvalidTopicConfig, match="does not compact"):
        parse("cleanup.policy", text)


def test_recompression_is_refused_with_a_sentence() -> None:
    with pytest.raises(InvalidTopicConfig, match="as the producer compressed them"):
        parse("compression.type", "gzip")


def test_values_have_their_types() -> None:
    assert parse("retention.ms", "-1") == -1
    assert parse("unclean.leader.election.enable", "TRUE") is True
    assert parse("min.cleanable.dirty.ratio", "0.25") == 0.25


def test_the_nearest_place_wins() -> None:
    static = {"retention.ms": "4"}
    places = [
        ("topic", "orders", "retention.ms", "1"),
        ("broker", "7", "log.retention.ms", "2"),
        ("broker", "", "log.retention.ms", "3"),
    ]
    seen = [effective(image_with(*places[skipped:]), "orders", static, 7).retention_ms for skipped in range(4)]
    assert seen == [1, 2, 3, 4]
    assert effective(Image.empty(), "orders", {}, 7).retention_ms == 604_800_000


def test_another_topic_or_broker_is_not_meant() -> None:
    image = image_with(("topic", "orders", "retention.ms", "1"), ("broker", "7", "log.retention.ms", "2"))
    assert effective(image, "others", {}, 8).retention_ms == 604_800_000


def test_the_controller_does_not_heed_what_is_set_for_a_single_broker() -> None:
    image = image_with(("broker", "7", "unclean.leader.election.enable", "true"))
    assert not unclean_election_allowed(image, "orders", {})
    assert unclean_election_allowed(Image.empty(), "orders", {"unclean.leader.election.enable": "true"})


def test_a_description_lists_every_place_nearest_first() -> None:
    image = image_with(("topic", "orders", "segment.bytes", "2048"), ("broker", "", "log.segment.bytes", "4096"))
    entry = next(entry for entry in describe(image, "orders", {"segment.bytes": "8192"}, 1) if entry.config.name == "segment.bytes")
    assert (entry.value, entry.source) == ("2048", ConfigSource.TOPIC)
    assert entry.synonyms == (
        ("segment.bytes", "2048", ConfigSource.TOPIC),
        ("log.segment.bytes", "4096", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.segment.bytes", "8192", ConfigSource.STATIC_BROKER),
        ("log.segment.bytes", "1073741824", ConfigSource.DEFAULT),
    )


def test_broker_settings_are_read_like_those_of_the_topic_behind_them() -> None:
    assert broker_names()["log.roll.ms"] == "segment.ms"
    assert parse_broker("log.segment.bytes", "2048") == 2048
    with pytest.raises(InvalidTopicConfig, match=r"log\.segment\.bytes"):
        parse_broker("log.segment.bytes", "1")
    with pytest.raises(InvalidTopicConfig, match=r"node\.id"):
        parse_broker("node.id", "1")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("log.retention.hours", "2"), ("log.retention.ms", "7200000")),
        (("log.retention.minutes", "-1"), ("log.retention.ms", "-1")),
        (("log.roll.hours", "1"), ("log.roll.ms", "3600000")),
        (("log.retention.ms", "5"), ("log.retention.ms", "5")),
    ],
)
def test_coarse_units_become_milliseconds(given: tuple[str, str], meant: tuple[str, str]) -> None:
    assert in_milliseconds(*given) == meant


def test_a_coarse_unit_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidTopicConfig, match=r"log\.retention\.hours"):
        in_milliseconds("log.retention.hours", "soon")
