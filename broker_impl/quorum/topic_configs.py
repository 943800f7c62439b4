"""The settings a topic may have: one table with type, default, bounds and the broker setting behind each.

A value is looked up where Kafka looks: the topic's own, then this broker's dynamic one, the dynamic default of
all brokers, the broker's configuration file, the built-in default. Text is what clients send and read; it is checked
when it is set, so that reading it back cannot fail. `defaults` below is what the configuration file says, by the
topic's names (`log.segment.bytes` there is `segment.bytes` here).

What cannot be honoured yet (compaction, recompression) is refused when it is asked for: a setting that is
accepted and ignored is a promise broken in silence.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.image import Image

Value = int | float | bool | str

LONG = (1 << 63) - 1
INT = (1 << 31) - 1
DAY_MS = 24 * 3600 * 1000


class ConfigType(IntEnum):
    """The numbers of DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class ConfigSource(IntEnum):
    """The numbers of DescribeConfigs."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class InvalidTopicConfig(BrokerError):
    """No such setting, or no such value for it; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class TopicConfig:
    name: str
    type: ConfigType
    default: str
    read: Callable[[str], Value]
    broker_name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The values in force for one topic on one broker; those of the log have the names of `LogConfig`."""

    cleanup_policy: str
    segment_bytes: int
    segment_ms: int
    index_bytes: int
    index_interval_bytes: int
    retention_ms: int
    retention_bytes: int
    max_message_bytes: int
    flush_messages: int
    flush_ms: int
    timestamp_type: str
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    file_delete_delay_ms: int
    min_insync_replicas: int
    unclean_leader_election: bool


Place = tuple[str, str, ConfigSource]  # the setting's name there, its value, what kind of place it is


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting as DescribeConfigs shows it: the value in force, and every place it could come from, nearest first."""

    config: TopicConfig
    value: str
    source: ConfigSource
    synonyms: tuple[Place, ...]


def parse(name: str, text: str) -> Value:
    """The value of a topic setting, or InvalidTopicConfig."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise InvalidTopicConfig(f"Unknown topic config name: {name}")
    return _read(config, name, text)


def parse_broker(name: str, text: str) -> Value:
    """The same by the name of the broker setting behind it."""
    config = BROKER_CONFIGS.get(name)
    if config is None:
        raise InvalidTopicConfig(f"Cannot change the broker config {name} while the broker runs")
    return _read(config, name, text)


def parse_one_broker(name: str, text: str) -> Value:
    """Of a single broker. Who is eligible to lead rests on leaders and the controller counting to the same number."""
    if name == "min.insync.replicas":
        raise InvalidTopicConfig(f"{name} must be the same on all brokers: set it for the topic, or as the default of all brokers")
    return parse_broker(name, text)


def broker_names() -> dict[str, str]:
    """Broker setting -> the topic setting it is the default of."""
    return {name: config.name for name, config in BROKER_CONFIGS.items()}


def in_milliseconds(name: str, text: str) -> tuple[str, str]:
    """`log.retention.hours` and its like under the name that counts milliseconds; anything else as it is."""
    if name not in _COARSE:
        return name, text
    fine, factor = _COARSE[name]
    if not _WHOLE_NUMBER.fullmatch(text.strip()):
        raise InvalidTopicConfig(f"Invalid value {text} for configuration {name}: it is not a whole number")
    number = int(text)
    return fine, str(number * factor if number >= 0 else number)


def effective(image: Image, topic: str, defaults: Mapping[str, str], broker: int | None = None) -> TopicSettings:
    """What is in force for the topic on `broker`; None is the controller, which heeds no single broker's settings."""
    values = {config.name: _in_force(config, image, topic, defaults, broker) for config in TOPIC_CONFIGS.values()}
    return TopicSettings(**{field: values[name] for field, name in _FIELDS.items()})  # type: ignore[arg-type]


def unclean_election_allowed(image: Image, topic: str, defaults: Mapping[str, str]) -> bool:
    return bool(_in_force(TOPIC_CONFIGS["unclean.leader.election.enable"], image, topic, defaults, None))


def min_insync(image: Image, topic: str, defaults: Mapping[str, str]) -> int:
    """As the controller sees it."""
    return int(_in_force(TOPIC_CONFIGS["min.insync.replicas"], image, topic, defaults, None))


def describe(image: Image, topic: str, defaults: Mapping[str, str], broker: int | None = None) -> list[ConfigEntry]:
    entries = []
    for config in TOPIC_CONFIGS.values():
        places = tuple(_places(config, image, topic, defaults, broker))
        entries.append(ConfigEntry(config, places[0][1], places[0][2], places))
    return entries


def _in_force(config: TopicConfig, image: Image, topic: str, defaults: Mapping[str, str], broker: int | None) -> Value:
    _, text, _ = next(_places(config, image, topic, defaults, broker))
    return config.read(text)


def _places(config: TopicConfig, image: Image, topic: str, defaults: Mapping[str, str], broker: int | None) -> Iterator[Place]:
    """Where the value comes from and would come from, nearest first; the last is the built-in default."""
    own = image.config("topic", topic)
    if config.name in own:
        yield config.name, own[config.name], ConfigSource.TOPIC
    if broker is not None and config.broker_name in image.config("broker", str(broker)):
        yield config.broker_name, image.config("broker", str(broker))[config.broker_name], ConfigSource.DYNAMIC_BROKER
    if config.broker_name in image.config("broker", ""):
        yield config.broker_name, image.config("broker", "")[config.broker_name], ConfigSource.DYNAMIC_DEFAULT_BROKER
    if config.name in defaults:
        yield config.broker_name, defaults[config.name], ConfigSource.STATIC_BROKER
    yield config.broker_name, config.default, ConfigSource.DEFAULT


def _read(config: TopicConfig, name: str, text: str) -> Value:
    try:
        return config.read(text)
    except ValueError as error:
        raise InvalidTopicConfig(f"Invalid value {text} for configuration {name}: {error}") from error


def _whole(low: int, high: int) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if not _WHOLE_NUMBER.fullmatch(text.strip()):
            raise ValueError("it is not a whole number")
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"it must be between {low} and {high}")
        return value

    return read


def _ratio(text: str) -> Value:
    if not _DECIMAL.fullmatch(text.strip()) or not 0 <= float(text) <= 1:
        raise ValueError("it must be a number between 0 and 1")
    return float(text)


def _flag(text: str) -> Value:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("it must be true or false")
    return lowered == "true"


def _one_of(*choices: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        if text not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return text

    return read


def _cleanup_policy(text: str) -> Value:
    policies = [part.strip() for part in text.split(",")]
    if "compact" in policies:
        raise ValueError("this broker does not compact logs yet; only delete is supported")
    if policies != ["delete"]:
        raise ValueError("it must be delete")
    return "delete"


def _compression(text: str) -> Value:
    if text != "producer":
        raise ValueError("this broker keeps batches as the producer compressed them; only producer is supported")
    return text


def _config(name: str, kind: ConfigType, default: object, read: Callable[[str], Value], broker_name: str, meaning: str) -> TopicConfig:
    return TopicConfig(name, kind, str(default), read, broker_name, meaning)


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[0-9]{0,30}\.?[0-9]{1,30}")
_T = ConfigType
_TABLE = [
    _config("cleanup.policy", _T.LIST, "delete", _cleanup_policy, "log.cleanup.policy", "What happens to old segments."),
    _config("compression.type", _T.STRING, "producer", _compression, "compression.type", "The codec batches are kept in."),
    _config("segment.bytes", _T.INT, 1 << 30, _whole(1024, INT), "log.segment.bytes", "The size at which a segment is closed."),
    _config(
        "segment.ms",
        _T.LONG,
        7 * DAY_MS,
        _whole(1, LONG),
        "log.roll.ms",
        "The age at which a segment is closed though it is not full.",
    ),
    _config(
        "segment.index.bytes", _T.INT, 10 << 20, _whole(24, INT), "log.index.size.max.bytes", "The size of the offset index of a segment."
    ),
    _config(
        "index.interval.bytes", _T.INT, 4096, _whole(0, INT), "log.index.interval.bytes", "How many bytes of log lie between index entries."
    ),
    _config(
        "retention.ms",
        _T.LONG,
        7 * DAY_MS,
        _whole(-1, LONG),
        "log.retention.ms",
        "The age after which segments are deleted; -1: never.",
    ),
    _config("retention.bytes", _T.LONG, -1, _whole(-1, LONG), "log.retention.bytes", "The size a partition is kept under; -1: no limit."),
    _config("max.message.bytes", _T.INT, 1048588, _whole(0, INT), "message.max.bytes", "The largest record batch taken."),
    _config("min.insync.replicas", _T.INT, 1, _whole(1, INT), "min.insync.replicas", "Replicas that must have a record for acks=all."),
    _config(
        "unclean.leader.election.enable",
        _T.BOOLEAN,
        "false",
        _flag,
        "unclean.leader.election.enable",
        "Whether a replica outside the ISR may lead when no member can, losing data.",
    ),
    _config(
        "flush.messages", _T.LONG, LONG, _whole(1, LONG), "log.flush.interval.messages", "Messages after which a log is forced to disk."
    ),
    _config(
        "flush.ms",
        _T.LONG,
        LONG,
        _whole(0, LONG),
        "log.flush.interval.ms",
        "Time after which a log is forced to disk.",
    ),
    _config(
        "message.timestamp.type",
        _T.STRING,
        "CreateTime",
        _one_of("CreateTime", "LogAppendTime"),
        "log.message.timestamp.type",
        "Whose clock dates a message.",
    ),
    _config(
        "message.timestamp.before.max.ms",
        _T.LONG,
        LONG,
        _whole(0, LONG),
        "log.message.timestamp.before.max.ms",
        "How far a producer's time may lie behind the broker's.",
    ),
    _config(
        "message.timestamp.after.max.ms",
        _T.LONG,
        3_600_000,
        _whole(0, LONG),
        "log.message.timestamp.after.max.ms",
        "How far a producer's time may lie ahead of the broker's.",
    ),
    _config(
        "file.delete.delay.ms", _T.LONG, 60_000, _whole(0, LONG), "log.segment.delete.delay.ms", "How long a deleted file stays on disk."
    ),
    _config(
        "delete.retention.ms",
        _T.LONG,
        DAY_MS,
        _whole(0, LONG),
        "log.cleaner.delete.retention.ms",
        "How long compaction keeps tombstones; without compaction it has no effect.",
    ),
    _config(
        "min.cleanable.dirty.ratio",
        _T.DOUBLE,
        0.5,
        _ratio,
        "log.cleaner.min.cleanable.ratio",
        "The dirty share that starts a compaction; without compaction it has no effect.",
    ),
]

TOPIC_CONFIGS: Mapping[str, TopicConfig] = {config.name: config for config in _TABLE}
BROKER_CONFIGS: Mapping[str, TopicConfig] = {config.broker_name: config for config in _TABLE}

_COARSE = {
    "log.roll.hours": ("log.roll.ms", 3_600_000),
    "log.retention.hours": ("log.retention.ms", 3_600_000),
    "log.retention.minutes": ("log.retention.ms", 60_000),
}
_FIELDS = {
    "cleanup_policy": "cleanup.policy",
    "segment_bytes": "segment.bytes",
    "segment_ms": "segment.ms",
    "index_bytes": "segment.index.bytes",
    "index_interval_bytes": "index.interval.bytes",
    "retention_ms": "retention.ms",
    "retention_bytes": "retention.bytes",
    "max_message_bytes": "max.message.bytes",
    "flush_messages": "flush.messages",
    "flush_ms": "flush.ms",
    "timestamp_type": "message.timestamp.type",
    "timestamp_before_max_ms": "message.timestamp.before.max.ms",
    "timestamp_after_max_ms": "message.timestamp.after.max.ms",
    "file_delete_delay_ms": "file.delete.delay.ms",
    "min_insync_replicas": "min.insync.replicas",
    "unclean_leader_election": "unclean.leader.election.enable",
}
