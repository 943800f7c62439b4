"""ElectLeaders: move leadership to the preferred replica, or elect without a clean candidate; null means everywhere."""

from dataclasses import dataclass

from broker_impl.protocol.schema import INT8, INT16, INT32, STRING, array, wire

KEY = 43
NAME = "ElectLeaders"
MIN_VERSION = 0
MAX_VERSION = 2
FLEXIBLE_SINCE = 2

PREFERRED = 0
UNCLEAN = 1


@dataclass(slots=True)
class TopicPartitions:
    topic: str = wire(STRING)
    partitions: list[int] = wire(array(INT32))


@dataclass(slots=True)
class ElectLeadersRequest:
    election_type: int = wire(INT8, since=1)
    topic_partitions: list[TopicPartitions] | None = wire(array(TopicPartitions), nullable_since=0)
    timeout_ms: int = wire(INT32, default=60_000)


@dataclass(slots=True)
class PartitionResult:
    partition_id: int = wire(INT32)
    error_code: int = wire(INT16)
    error_message: str | None = wire(STRING, nullable_since=0, default=None)


@dataclass(slots=True)
class ReplicaElectionResult:
    topic: str = wire(STRING)
    partition_result: list[PartitionResult] = wire(array(PartitionResult))


@dataclass(slots=True)
class ElectLeadersResponse:
    throttle_time_ms: int = wire(INT32)
    error_code: int = wire(INT16, since=1)
    replica_election_results: list[ReplicaElectionResult] = wire(array(ReplicaElectionResult))
