"""IncrementalAlterConfigs: set, delete, append to or subtract from single settings."""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT8, INT16, INT32, STRING, array, wire

KEY = 44
NAME = "IncrementalAlterConfigs"
MIN_VERSION = 0
MAX_VERSION = 1
FLEXIBLE_SINCE = 1

SET = 0
DELETE = 1
APPEND = 2
SUBTRACT = 3


@dataclass(slots=True)
class AlterableConfig:
    name: str = wire(STRING)
    config_operation: int = wire(INT8)
    value: str | None = wire(STRING, nullable_since=0)


@dataclass(slots=True)
class AlterConfigsResource:
    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)
    configs: list[AlterableConfig] = wire(array(AlterableConfig))


@dataclass(slots=True)
class IncrementalAlterConfigsRequest:
    resources: list[AlterConfigsResource] = wire(array(AlterConfigsResource))
    validate_only: bool = wire(BOOL)


@dataclass(slots=True)
class AlterConfigsResourceResponse:
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)
    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)


@dataclass(slots=True)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int = wire(INT32)
    responses: list[AlterConfigsResourceResponse] = wire(array(AlterConfigsResourceResponse))
