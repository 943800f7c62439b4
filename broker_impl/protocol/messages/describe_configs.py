"""DescribeConfigs: the settings of topics and brokers, and where each value comes from."""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT8, INT16, INT32, STRING, array, wire

KEY = 32
NAME = "DescribeConfigs"
MIN_VERSION = 1
MAX_VERSION = 4
FLEXIBLE_SINCE = 4


@dataclass(slots=True)
class DescribeConfigsResource:
    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)
    configuration_keys: list[str] | None = wire(array(STRING), nullable_since=0)


@dataclass(slots=True)
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource] = wire(array(DescribeConfigsResource))
    include_synonyms: bool = wire(BOOL)
    include_documentation: bool = wire(BOOL, since=3)


@dataclass(slots=True)
class DescribeConfigsSynonym:
    name: str = wire(STRING)
    value: str | None = wire(STRING, nullable_since=0)
    source: int = wire(INT8)


@dataclass(slots=True)
class DescribeConfigsResourceResult:
    name: str = wire(STRING)
    value: str | None = wire(STRING, nullable_since=0)
    read_only: bool = wire(BOOL)
    config_source: int = wire(INT8, default=-1)
    is_sensitive: bool = wire(BOOL)
    synonyms: list[DescribeConfigsSynonym] = wire(array(DescribeConfigsSynonym))
    config_type: int = wire(INT8, since=3)
    documentation: str | None = wire(STRING, since=3, nullable_since=3, default=None)


@dataclass(slots=True)
class DescribeConfigsResult:
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)
    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)
    configs: list[DescribeConfigsResourceResult] = wire(array(DescribeConfigsResourceResult))


@dataclass(slots=True)
class DescribeConfigsResponse:
    throttle_time_ms: int = wire(INT32)
    results: list[DescribeConfigsResult] = wire(array(DescribeConfigsResult))
