"""Produce and Fetch once more, declared instead of written by hand: the bridge between the hot codecs and kio.

kio cannot write fields it does not know and refuses to read them; a declared message can, so that the hot codecs are
tried with tagged fields of the future too.
"""

from dataclasses import dataclass

from broker_impl.protocol.schema import BYTES, INT8, INT16, INT32, INT64, STRING, UUID, array, wire


@dataclass(slots=True)
class NodeEndpoint:
    node_id: int = wire(INT32)
    host: str = wire(STRING)
    port: int = wire(INT32)
    rack: str | None = wire(STRING, nullable_since=0, default=None)


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: int = wire(INT32, default=-1)
    leader_epoch: int = wire(INT32, default=-1)


@dataclass(slots=True)
class PartitionProduceData:
    index: int = wire(INT32)
    records: bytes | None = wire(BYTES, nullable_since=0)


@dataclass(slots=True)
class TopicProduceData:
    name: str = wire(STRING)
    partition_data: list[PartitionProduceData] = wire(array(PartitionProduceData))


@dataclass(slots=True)
class ProduceRequest:
    transactional_id: str | None = wire(STRING, nullable_since=0)
    acks: int = wire(INT16)
    timeout_ms: int = wire(INT32)
    topic_data: list[TopicProduceData] = wire(array(TopicProduceData))


@dataclass(slots=True)
class BatchIndexAndErrorMessage:
    batch_index: int = wire(INT32)
    batch_index_error_message: str | None = wire(STRING, nullable_since=0)


@dataclass(slots=True)
class PartitionProduceResponse:
    index: int = wire(INT32)
    error_code: int = wire(INT16)
    base_offset: int = wire(INT64)
    log_append_time: int = wire(INT64)
    log_start_offset: int = wire(INT64, since=5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = wire(array(BatchIndexAndErrorMessage), since=8)
    error_message: str | None = wire(STRING, since=8, nullable_since=8, default=None)
    current_leader: LeaderIdAndEpoch = wire(LeaderIdAndEpoch, tag=(0, 10))


@dataclass(slots=True)
class TopicProduceResponse:
    name: str = wire(STRING)
    partition_responses: list[PartitionProduceResponse] = wire(array(PartitionProduceResponse))


@dataclass(slots=True)
class ProduceResponse:
    responses: list[TopicProduceResponse] = wire(array(TopicProduceResponse))
    throttle_time_ms: int = wire(INT32)
    node_endpoints: list[NodeEndpoint] = wire(array(NodeEndpoint), tag=(0, 10))


@dataclass(slots=True)
class FetchPartition:
    partition: int = wire(INT32)
    current_leader_epoch: int = wire(INT32, since=9, default=-1)
    fetch_offset: int = wire(INT64)
    last_fetched_epoch: int = wire(INT32, since=12, default=-1)
    log_start_offset: int = wire(INT64, since=5, default=-1)
    partition_max_bytes: int = wire(INT32)


@dataclass(slots=True)
class FetchTopic:
    topic: str = wire(STRING, until=12)
    topic_id: bytes = wire(UUID, since=13)
    partitions: list[FetchPartition] = wire(array(FetchPartition))


@dataclass(slots=True)
class ForgottenTopic:
    topic: str = wire(STRING, until=12)
    topic_id: bytes = wire(UUID, since=13)
    partitions: list[int] = wire(array(INT32))


@dataclass(slots=True)
class ReplicaState:
    replica_id: int = wire(INT32, default=-1)
    replica_epoch: int = wire(INT64, default=-1)


@dataclass(slots=True)
class FetchRequest:
    cluster_id: str | None = wire(STRING, tag=(0, 12), nullable_since=12, default=None)
    replica_id: int = wire(INT32, until=14, default=-1)
    replica_state: ReplicaState = wire(ReplicaState, tag=(1, 15))
    max_wait_ms: int = wire(INT32)
    min_bytes: int = wire(INT32)
    max_bytes: int = wire(INT32, default=0x7FFF_FFFF)
    isolation_level: int = wire(INT8)
    session_id: int = wire(INT32, since=7)
    session_epoch: int = wire(INT32, since=7, default=-1)
    topics: list[FetchTopic] = wire(array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = wire(array(ForgottenTopic), since=7)
    rack_id: str = wire(STRING, since=11)


@dataclass(slots=True)
class EpochEndOffset:
    epoch: int = wire(INT32, default=-1)
    end_offset: int = wire(INT64, default=-1)


@dataclass(slots=True)
class SnapshotId:
    end_offset: int = wire(INT64, default=-1)
    epoch: int = wire(INT32, default=-1)


@dataclass(slots=True)
class AbortedTransaction:
    producer_id: int = wire(INT64)
    first_offset: int = wire(INT64)


@dataclass(slots=True)
class PartitionData:
    partition_index: int = wire(INT32)
    error_code: int = wire(INT16)
    high_watermark: int = wire(INT64)
    last_stable_offset: int = wire(INT64, default=-1)
    log_start_offset: int = wire(INT64, since=5, default=-1)
    diverging_epoch: EpochEndOffset = wire(EpochEndOffset, tag=(0, 12))
    current_leader: LeaderIdAndEpoch = wire(LeaderIdAndEpoch, tag=(1, 12))
    snapshot_id: SnapshotId = wire(SnapshotId, tag=(2, 12))
    aborted_transactions: list[AbortedTransaction] | None = wire(array(AbortedTransaction), nullable_since=0)
    preferred_read_replica: int = wire(INT32, since=11, default=-1)
    records: bytes | None = wire(BYTES, nullable_since=0)


@dataclass(slots=True)
class FetchableTopicResponse:
    topic: str = wire(STRING, until=12)
    topic_id: bytes = wire(UUID, since=13)
    partitions: list[PartitionData] = wire(array(PartitionData))


@dataclass(slots=True)
class FetchResponse:
    throttle_time_ms: int = wire(INT32)
    error_code: int = wire(INT16, since=7)
    session_id: int = wire(INT32, since=7)
    responses: list[FetchableTopicResponse] = wire(array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = wire(array(NodeEndpoint), tag=(0, 16))
