"""DescribeCluster: the brokers and the controller, without topics."""

from dataclasses import dataclass

from broker_impl.protocol.schema import BOOL, INT8, INT16, INT32, STRING, array, wire

KEY = 60
NAME = "DescribeCluster"
MIN_VERSION = 0
MAX_VERSION = 1
FLEXIBLE_SINCE = 0

BROKERS = 1
CONTROLLERS = 2
OPERATIONS_NOT_ASKED = -(1 << 31)


@dataclass(slots=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = wire(BOOL)
    endpoint_type: int = wire(INT8, since=1, default=BROKERS)


@dataclass(slots=True)
class DescribeClusterBroker:
    broker_id: int = wire(INT32)
    host: str = wire(STRING)
    port: int = wire(INT32)
    rack: str | None = wire(STRING, nullable_since=0, default=None)


@dataclass(slots=True)
class DescribeClusterResponse:
    throttle_time_ms: int = wire(INT32)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)
    endpoint_type: int = wire(INT8, since=1, default=BROKERS)
    cluster_id: str = wire(STRING)
    controller_id: int = wire(INT32, default=-1)
    brokers: list[DescribeClusterBroker] = wire(array(DescribeClusterBroker))
    cluster_authorized_operations: int = wire(INT32, default=OPERATIONS_NOT_ASKED)
