"""Settings of topics and brokers: described with where each value comes from, and changed through the controller."""

import dataclasses

from broker_impl.api.services import Services
from broker_impl.config import Address, Config
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from broker_impl.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from broker_impl.quorum import topic_configs
from broker_impl.quorum.commands import AlterConfigs, AlterConfigsReply, ConfigEdit, ConfigResourceEdits
from broker_impl.quorum.topic_configs import ConfigSource, ConfigType

TOPIC = 2
BROKER = 4
TIMEOUT_MS = 30_000
KINDS = {TOPIC: "topic", BROKER: "broker"}


def describe_configs(services: Services, request: DescribeConfigsRequest, version: int) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(0, [_describe(services, resource, request) for resource in request.resources])


async def incremental_alter_configs(
    services: Services, request: IncrementalAlterConfigsRequest, version: int
) -> IncrementalAlterConfigsResponse:
    resources = [
        ConfigResourceEdits(
            KINDS.get(resource.resource_type, str(resource.resource_type)),
            resource.resource_name,
            [ConfigEdit(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    try:
        reply = await services.submit(AlterConfigs(resources, request.validate_only), TIMEOUT_MS)
    except BrokerError as problem:
        codes = [(problem.code, problem.message)] * len(resources)
    else:
        assert isinstance(reply, AlterConfigsReply)
        codes = [(ErrorCode(result.error), result.message) for result in reply.results]
    answers = [
        AlterConfigsResourceResponse(code, message or None, resource.resource_type, resource.resource_name)
        for (code, message), resource in zip(codes, request.resources, strict=True)
    ]
    return IncrementalAlterConfigsResponse(0, answers)


def _describe(services: Services, resource: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
    result = DescribeConfigsResult(ErrorCode.NONE, None, resource.resource_type, resource.resource_name)
    if resource.resource_type == TOPIC:
        if resource.resource_name not in services.replicas.image.topics:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return result
        configs = _topic_configs(services, resource.resource_name, request)
    elif resource.resource_type == BROKER and resource.resource_name in ("", str(services.config.node_id)):
        configs = _broker_configs(services, request)
    else:
        result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, f"this broker cannot describe {resource.resource_name!r}"
        return result
    wanted = resource.configuration_keys
    result.configs = [config for config in configs if not wanted or config.name in wanted]
    return result


def _topic_configs(services: Services, topic: str, request: DescribeConfigsRequest) -> list[DescribeConfigsResourceResult]:
    entries = topic_configs.describe(services.replicas.image, topic, services.config.topic_defaults, services.config.node_id)
    return [_entry(entry, entry.config.name, False, request) for entry in entries]


def _broker_configs(services: Services, request: DescribeConfigsRequest) -> list[DescribeConfigsResourceResult]:
    entries = topic_configs.describe(services.replicas.image, "", services.config.topic_defaults, services.config.node_id)
    changeable = [_entry(entry, entry.config.broker_name, False, request) for entry in entries]
    return changeable + _fixed_settings(services.config, request)


def _entry(entry: topic_configs.ConfigEntry, name: str, read_only: bool, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = [DescribeConfigsSynonym(*place) for place in entry.synonyms] if request.include_synonyms else []
    meaning = entry.config.meaning if request.include_documentation else None
    return DescribeConfigsResourceResult(name, entry.value, read_only, entry.source, False, synonyms, entry.config.type, meaning)


def _fixed_settings(config: Config, request: DescribeConfigsRequest) -> list[DescribeConfigsResourceResult]:
    """What only the configuration file can set."""
    results = []
    for field in dataclasses.fields(config):
        if "name" not in field.metadata:
            continue
        value = getattr(config, field.name)
        given = value != field.default
        source = ConfigSource.STATIC_BROKER if given else ConfigSource.DEFAULT
        kind = {bool: ConfigType.BOOLEAN, int: ConfigType.LONG}.get(type(value), ConfigType.STRING)
        results.append(DescribeConfigsResourceResult(field.metadata["name"], _text(value), True, source, False, [], kind))
    return results


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(f"{each[0]}@{each[1]}" if isinstance(each, tuple) else str(each) for each in value)
    return f"PLAINTEXT://{value}" if isinstance(value, Address) else str(value)
