"""Changing settings of topics and brokers, key by key, while others keep theirs.

Each resource changes whole or not at all. The outcome is checked, not the edit: an append to a list may make a value
that the list must not have. An edit that changes nothing leaves no record.

Two traps. Allowing unclean elections is itself an event, as partitions that wait for their last ISR member need not
wait any longer. And a leader that has not heard yet that more replicas must be in sync would go on acknowledging with fewer, while
who left its ISR counts as eligible: so its partitions get a new epoch, and no ISR change of such a leader is accepted.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import AlterConfigs, AlterConfigsReply, ConfigEdit, ConfigOperation, ConfigResourceEdits, ConfigResult
from broker_impl.quorum.elections import change_record, elect_everywhere
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import ConfigChanged, Record
from broker_impl.quorum.topic_configs import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    ConfigType,
    InvalidTopicConfig,
    TopicConfig,
    Value,
    min_insync,
    parse,
    parse_broker,
    parse_one_broker,
)


def alter_configs(image: Image, command: AlterConfigs, defaults: Mapping[str, str]) -> tuple[list[Record], AlterConfigsReply]:
    records: list[Record] = []
    results = []
    seen: set[tuple[str, str]] = set()
    for resource in command.resources:
        try:
            if (resource.kind, resource.name) in seen:
                raise BrokerError(ErrorCode.INVALID_REQUEST, "The resource is named twice in one request.")
            records += _alter_one(image, resource)
            results.append(ConfigResult(resource.kind, resource.name))
        except BrokerError as refusal:
            results.append(ConfigResult(resource.kind, resource.name, refusal.code, refusal.message))
        seen.add((resource.kind, resource.name))
    if command.validate_only or not records:
        return [], AlterConfigsReply(results)
    records += _renewals(image, image.with_records(records), defaults)
    altered = image.with_records(records)
    return [*records, *elect_everywhere(altered, altered.live_brokers(), defaults)], AlterConfigsReply(results)


def check_topic_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The settings of a new topic, or InvalidTopicConfig."""
    checked = {}
    for key, value in configs.items():
        if value is None:
            raise InvalidTopicConfig(f"Null value not supported for topic configs: {key}")
        parse(key, value)
        checked[key] = value
    return checked


def _renewals(image: Image, altered: Image, defaults: Mapping[str, str]) -> Iterator[Record]:
    """A new epoch for each partition of which more replicas must be in sync than before."""
    for topic in altered.topics.values():
        if min_insync(altered, topic.name, defaults) > min_insync(image, topic.name, defaults):
            for partition in topic.partitions.values():
                yield change_record(topic.id, replace(partition, partition_epoch=partition.partition_epoch + 1))


def _alter_one(image: Image, resource: ConfigResourceEdits) -> list[ConfigChanged]:
    table, check = _language(image, resource)
    current = image.config(resource.kind, resource.name)
    keys = [edit.key for edit in resource.edits]
    if len(set(keys)) != len(keys):
        raise BrokerError(ErrorCode.INVALID_REQUEST, "A key is named twice for one resource.")
    records = []
    for edit in resource.edits:
        value = _edited(edit, current, table)
        if value is not None:
            check(edit.key, value)
        if value != current.get(edit.key):
            records.append(ConfigChanged(resource.kind, resource.name, edit.key, value))
    return records


def _language(image: Image, resource: ConfigResourceEdits) -> tuple[Mapping[str, TopicConfig], Callable[[str, str], Value]]:
    """The names a resource knows and how their values are read; raises if there is no such resource."""
    if resource.kind == "topic":
        if resource.name not in image.topics:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        return TOPIC_CONFIGS, parse
    if resource.kind == "broker":
        if resource.name and resource.name not in map(str, image.brokers):
            raise BrokerError(ErrorCode.INVALID_REQUEST, f"There is no broker '{resource.name}'.")
        return BROKER_CONFIGS, parse_one_broker if resource.name else parse_broker
    raise BrokerError(ErrorCode.INVALID_REQUEST, f"Resources of kind '{resource.kind}' have no configs.")


def _edited(edit: ConfigEdit, current: Mapping[str, str], table: Mapping[str, TopicConfig]) -> str | None:
    """The value after the edit; None: the key is gone."""
    if edit.operation == ConfigOperation.DELETE:
        return None
    if edit.value is None:
        raise BrokerError(ErrorCode.INVALID_REQUEST, f"Null value not supported for {edit.key}.")
    if edit.operation == ConfigOperation.SET:
        return edit.value
    if edit.operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        raise BrokerError(ErrorCode.INVALID_REQUEST, f"Unknown config operation {edit.operation}.")
    config = table.get(edit.key)
    if config is None or config.type is not ConfigType.LIST:
        raise InvalidTopicConfig(f"{edit.key} is not a list: nothing can be appended or subtracted.")
    return _edited_list(edit, current.get(edit.key, config.default), edit.value)


def _edited_list(edit: ConfigEdit, current: str, operand: str) -> str:
    members = [member for member in current.split(",") if member]
    operands = [member for member in operand.split(",") if member]
    if edit.operation == ConfigOperation.APPEND:
        return ",".join([*members, *(member for member in operands if member not in members)])
    return ",".join(member for member in members if member not in operands)
