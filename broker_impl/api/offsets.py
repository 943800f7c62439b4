"""Where a partition begins and ends, what is at a time, and where an epoch ends."""

from broker_impl.api.services import Services
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.messages.list_offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from broker_impl.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from broker_impl.replication.replica import Replica

UNCERTAIN_SINCE = 5


def list_offsets(services: Services, request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
    topics = []
    for topic in request.topics:
        answers = [_offset(services, topic.name, wanted, version) for wanted in topic.partitions]
        topics.append(ListOffsetsTopicResponse(topic.name, answers))
    return ListOffsetsResponse(0, topics)


def offset_for_leader_epoch(services: Services, request: OffsetForLeaderEpochRequest, version: int) -> OffsetForLeaderEpochResponse:
    topics = []
    for topic in request.topics:
        answers = [_epoch_end(services, topic.topic, wanted) for wanted in topic.partitions]
        topics.append(OffsetForLeaderTopicResult(topic.topic, answers))
    return OffsetForLeaderEpochResponse(0, topics)


def _offset(services: Services, topic: str, wanted: ListOffsetsPartition, version: int) -> ListOffsetsPartitionResponse:
    try:
        replica = services.replicas.find_leader(topic, wanted.partition_index)
        replica.state.check_epoch(wanted.current_leader_epoch)
        replica.check_online()
        timestamp, offset, epoch = _find(replica, wanted.timestamp, version)
    except BrokerError as problem:
        return ListOffsetsPartitionResponse(wanted.partition_index, problem.code)
    return ListOffsetsPartitionResponse(wanted.partition_index, ErrorCode.NONE, timestamp, offset, epoch)


def _find(replica: Replica, timestamp: int, version: int) -> tuple[int, int, int]:
    log = replica.log
    if timestamp == EARLIEST:
        return -1, log.start_offset, log.epoch_at(log.start_offset)
    _check_certain(replica, version)
    watermark = replica.state.high_watermark
    if timestamp == LATEST:
        return -1, watermark, replica.state.leader_epoch
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp()
        found = found if found is not None and found.offset < watermark else None
    elif timestamp >= 0:
        found = log.offset_for_time(timestamp, watermark)
    else:
        raise BrokerError(ErrorCode.UNSUPPORTED_VERSION, f"there is no special timestamp {timestamp} in this version")
    return found if found is not None else (-1, -1, -1)


def _check_certain(replica: Replica, version: int) -> None:
    """A new leader's watermark may still be behind what consumers were shown before: it says so instead of going back."""
    if replica.state.high_watermark < replica.state.epoch_start:
        code = ErrorCode.OFFSET_NOT_AVAILABLE if version >= UNCERTAIN_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
        raise BrokerError(code, "the new leader does not know the high watermark yet")


def _epoch_end(services: Services, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        replica = services.replicas.find_leader(topic, wanted.partition)
        replica.state.check_epoch(wanted.current_leader_epoch)
        replica.check_online()
    except BrokerError as problem:
        return EpochEndOffset(problem.code, wanted.partition)
    epoch, end = replica.log.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(ErrorCode.NONE, wanted.partition, epoch, end)
