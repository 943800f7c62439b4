"""ApiVersions: what this broker speaks. The first request of every connection, so it must never fail.

A client newer than us asks in a version we do not know; the answer is then version 0, whatever was asked, with
UNSUPPORTED_VERSION and ApiVersions alone in the list (`unsupported_version_response`).
"""

from dataclasses import dataclass

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.schema import BOOL, INT16, INT32, INT64, STRING, array, wire

KEY = 18
NAME = "ApiVersions"
MIN_VERSION = 0
MAX_VERSION = 4
FLEXIBLE_SINCE = 3


@dataclass(slots=True)
class ApiVersionsRequest:
    client_software_name: str = wire(STRING, since=3)
    client_software_version: str = wire(STRING, since=3)


@dataclass(slots=True)
class ApiVersion:
    api_key: int = wire(INT16)
    min_version: int = wire(INT16)
    max_version: int = wire(INT16)


@dataclass(slots=True)
class SupportedFeatureKey:
    name: str = wire(STRING)
    min_version: int = wire(INT16)
    max_version: int = wire(INT16)


@dataclass(slots=True)
class FinalizedFeatureKey:
    name: str = wire(STRING)
    max_version_level: int = wire(INT16)
    min_version_level: int = wire(INT16)


@dataclass(slots=True)
class ApiVersionsResponse:
    error_code: int = wire(INT16)
    api_keys: list[ApiVersion] = wire(array(ApiVersion))
    throttle_time_ms: int = wire(INT32, since=1)
    supported_features: list[SupportedFeatureKey] = wire(array(SupportedFeatureKey), tag=(0, 3))
    finalized_features_epoch: int = wire(INT64, tag=(1, 3), default=-1)
    finalized_features: list[FinalizedFeatureKey] = wire(array(FinalizedFeatureKey), tag=(2, 3))
    zk_migration_ready: bool = wire(BOOL, tag=(3, 3))


def unsupported_version_response() -> ApiVersionsResponse:
    """To be encoded as version 0."""
    return ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, [ApiVersion(KEY, MIN_VERSION, MAX_VERSION)])
