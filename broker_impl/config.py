"""The broker's settings, under Kafka's names.

A field of `Config` names its setting; a TOML file (dotted keys nest, and are flattened back) and `--set name=value`
fill it. A name that nobody knows is an error that tells the nearest one: a misspelt timeout that is silently
ignored would make every result of a run worthless.
"""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_impl.quorum import topic_configs


class ConfigError(Exception):
    """A setting is unknown, missing or out of range; the message says which and what is allowed."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def setting(name: str, default: Any = dataclasses.MISSING, least: int | None = None) -> Any:
    metadata = {"name": name, "least": least}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    node_id: int = setting("node.id", least=0)
    cluster_id: str = setting("cluster.id", "highwater-cluster")
    roles: tuple[str, ...] = setting("process.roles", ("broker", "controller"))
    voters: tuple[tuple[int, Address], ...] = setting("controller.quorum.voters", ())
    listener: Address = setting("listeners")
    advertised: Address | None = setting("advertised.listeners", None)
    log_dir: str = setting("log.dirs")
    http: Address | None = setting("http.listener", None)
    rack: str | None = setting("broker.rack", None)
    log_level: str = setting("log.level", "info")

    session_timeout_ms: int = setting("broker.session.timeout.ms", 9000, least=100)
    heartbeat_interval_ms: int = setting("broker.heartbeat.interval.ms", 2000, least=10)
    election_timeout_ms: int = setting("controller.quorum.election.timeout.ms", 1000, least=50)

    partitions: int = setting("num.partitions", 1, least=1)
    replication_factor: int = setting("default.replication.factor", 1, least=1)
    auto_create_topics: bool = setting("auto.create.topics.enable", True)

    replica_lag_ms: int = setting("replica.lag.time.max.ms", 30_000, least=10)
    replica_fetch_wait_ms: int = setting("replica.fetch.wait.max.ms", 500, least=0)
    replica_fetch_bytes: int = setting("replica.fetch.max.bytes", 1 << 20, least=1024)
    replica_response_bytes: int = setting("replica.fetch.response.max.bytes", 10 << 20, least=1024)
    fetch_bytes: int = setting("fetch.max.bytes", 55 << 20, least=1024)
    watermark_checkpoint_ms: int = setting("replica.high.watermark.checkpoint.interval.ms", 5000, least=10)
    retention_check_ms: int = setting("log.retention.check.interval.ms", 300_000, least=10)

    request_bytes: int = setting("socket.request.max.bytes", 100 << 20, least=1024)
    queued_bytes: int = setting("queued.max.request.bytes", 512 << 20, least=1 << 20)
    connection_queued_requests: int = setting("max.in.flight.requests.per.connection", 64, least=1)
    connections: int = setting("max.connections", 10_000, least=1)
    idle_ms: int = setting("connections.max.idle.ms", 600_000, least=100)
    snapshot_bytes: int = setting("metadata.log.max.record.bytes.between.snapshots", 20 << 20, least=1024)

    topic_defaults: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def address(self) -> Address:
        return self.advertised or self.listener

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles


def load_config(given: Mapping[str, Any]) -> Config:
    """From setting names to a `Config`: nested tables are flattened, values may be text as on a command line."""
    fields = {field.metadata["name"]: field for field in dataclasses.fields(Config) if "name" in field.metadata}
    synonyms = topic_configs.broker_names()
    values: dict[str, Any] = {}
    defaults: dict[str, str] = {}
    for given_name, given_value in _flatten(given):
        name, value = _in_milliseconds(given_name, _text(given_value))
        if name in synonyms:
            defaults[synonyms[name]] = _topic_default(name, synonyms[name], value)
        elif name in fields:
            values[fields[name].name] = _convert(name, fields[name], value)
        else:
            raise ConfigError(_unknown(name, [*fields, *synonyms]))
    for name, field in fields.items():
        if field.default is dataclasses.MISSING and field.name not in values:
            raise ConfigError(f"the setting '{name}' is missing")
    return _checked(Config(**values, topic_defaults=defaults))


def _checked(config: Config) -> Config:
    voters = dict(config.voters) or {config.node_id: config.address}
    if config.heartbeat_interval_ms * 2 > config.session_timeout_ms:
        raise ConfigError(
            "'broker.heartbeat.interval.ms' must be at most half of 'broker.session.timeout.ms', or sessions lapse by themselves"
        )
    if ("controller" in config.roles) != (config.node_id in voters):
        raise ConfigError("a node is listed in 'controller.quorum.voters' exactly when 'process.roles' has 'controller'")
    return dataclasses.replace(config, voters=tuple(sorted(voters.items(), key=lambda voter: voter[0])))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _unknown(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, 1, 0.5)
    return f"there is no setting '{name}'" + (f"; did you mean '{nearest[0]}'?" if nearest else "")


def _text(value: Any) -> str:
    """As it would stand on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_milliseconds(name: str, value: str) -> tuple[str, str]:
    try:
        return topic_configs.in_milliseconds(name, value)
    except topic_configs.InvalidTopicConfig as problem:
        raise ConfigError(str(problem)) from None


def _topic_default(broker_name: str, topic_name: str, text: str) -> str:
    try:
        topic_configs.parse(topic_name, text)
    except topic_configs.InvalidTopicConfig as problem:
        raise ConfigError(f"'{broker_name}': {problem}") from None
    return text


def _convert(name: str, field: "dataclasses.Field[Any]", value: str) -> Any:
    try:
        converted = _CONVERTERS.get(name, _plain)(field, value)
    except (ValueError, TypeError, KeyError):
        raise ConfigError(f"'{name}' cannot be {value!r}") from None
    least = field.metadata["least"]
    if least is not None and converted < least:
        raise ConfigError(f"'{name}' must be at least {least}, not {converted}")
    return converted


def _plain(field: "dataclasses.Field[Any]", value: str) -> Any:
    if field.type is bool:
        return {"true": True, "false": False}[value.lower()]
    return int(value) if field.type is int else value


def _roles(_field: object, value: str) -> tuple[str, ...]:
    roles = tuple(role.strip() for role in value.split(","))
    if not roles or not set(roles) <= {"broker", "controller"}:
        raise ConfigError(f"'process.roles' is a list of 'broker' and 'controller', not {value!r}")
    return roles


def _listener(_field: object, value: str) -> Address:
    if "," in value:
        raise ConfigError("there is one listener, for clients, replication and quorum alike")
    scheme, separator, rest = value.rpartition("://")
    if separator and scheme != "PLAINTEXT":
        raise ConfigError(f"listeners speak PLAINTEXT only, not {scheme}")
    return _address(rest)


def _address(text: str) -> Address:
    host, separator, port = text.rpartition(":")
    if not separator or not 0 <= int(port) <= 65535:
        raise ValueError(text)
    return Address(host or "127.0.0.1", int(port))


def _voters(_field: object, value: str) -> tuple[tuple[int, Address], ...]:
    pairs = [voter.strip().split("@") for voter in value.split(",") if voter.strip()]
    return tuple((int(node), _address(address)) for node, address in pairs)


def _directory(_field: object, value: str) -> str:
    if "," in value:
        raise ConfigError("'log.dirs' takes one directory")
    return value


def _level(_field: object, value: str) -> str:
    if value not in ("debug", "info", "warning", "error"):
        raise ValueError(value)
    return value


_CONVERTERS: dict[str, Any] = {
    "process.roles": _roles,
    "listeners": _listener,
    "advertised.listeners": _listener,
    "http.listener": _listener,
    "controller.quorum.voters": _voters,
    "log.dirs": _directory,
    "log.level": _level,
}
