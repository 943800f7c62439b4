"""What the cluster looks like: Metadata, DescribeCluster, DescribeTopicPartitions. Every broker answers from its own image."""

from collections.abc import Iterable

from broker_impl.api.services import Services
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.messages.describe_cluster import (
    CONTROLLERS,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from broker_impl.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from broker_impl.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from broker_impl.protocol.wire import ZERO_UUID
from broker_impl.quorum.commands import CreateTopics, CreateTopicsReply, NewTopic
from broker_impl.quorum.image import BrokerImage, PartitionImage, TopicImage
from broker_impl.quorum.topics import check_name

NULLABLE_NAMES_SINCE = 12
AUTO_CREATION_TIMEOUT_MS = 5000


async def metadata(services: Services, request: MetadataRequest, version: int) -> MetadataResponse:
    topics = request.topics
    if topics is None or (version == 0 and not topics):
        return _response(services, [_topic(services, topic) for topic in services.replicas.image.topics.values()])
    names = [topic.name for topic in topics if topic.name is not None]
    if version < NULLABLE_NAMES_SINCE and len(names) < len(topics):
        return _response(services, [MetadataResponseTopic(ErrorCode.INVALID_REQUEST, topic.name or "") for topic in topics])
    refused = await _create_missing(services, names) if request.allow_auto_topic_creation and services.config.auto_create_topics else {}
    return _response(services, [_asked_for(services, topic.name, topic.topic_id, refused) for topic in topics])


def describe_cluster(services: Services, request: DescribeClusterRequest, version: int) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(0, ErrorCode.UNSUPPORTED_VERSION, "controllers share the brokers' listener", request.endpoint_type)
    brokers = [DescribeClusterBroker(broker.id, broker.host, broker.port, broker.rack) for broker in _live(services)]
    controller = _contact(services)
    return DescribeClusterResponse(
        endpoint_type=request.endpoint_type, cluster_id=services.config.cluster_id, controller_id=controller, brokers=brokers
    )


def describe_topic_partitions(services: Services, request: DescribeTopicPartitionsRequest, version: int) -> DescribeTopicPartitionsResponse:
    image = services.replicas.image
    names = sorted({topic.name for topic in request.topics} or image.topics)
    cursor = request.cursor
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
    left = min(max(request.response_partition_limit, 1), 2000)
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            topics.append(DescribeTopicPartitionsResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if not left:
            return DescribeTopicPartitionsResponse(0, topics, Cursor(name, first))
        wanted = [topic.partitions[index] for index in sorted(topic.partitions) if index >= first]
        described = [_described(services, partition) for partition in wanted[:left]]
        topics.append(DescribeTopicPartitionsResponseTopic(ErrorCode.NONE, name, topic.id, is_internal(name), described))
        left -= len(described)
        if len(wanted) > len(described):
            return DescribeTopicPartitionsResponse(0, topics, Cursor(name, wanted[len(described)].index))
    return DescribeTopicPartitionsResponse(0, topics)


def is_internal(topic: str) -> bool:
    return topic in ("__consumer_offsets", "__transaction_state")


def _response(services: Services, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    brokers = [MetadataResponseBroker(broker.id, broker.host, broker.port, broker.rack) for broker in _live(services)]
    return MetadataResponse(0, brokers, services.config.cluster_id, _contact(services), topics)


def _contact(services: Services) -> int:
    """Whom clients call the controller. Every broker passes its commands on, so any one will do while the real one is unknown, not
    a broker, or just being elected; a client told "nobody" would ask again only after minutes."""
    live = {broker.id for broker in _live(services)}
    for candidate in (services.quorum.controller_id, services.config.node_id, *sorted(live)):
        if candidate in live:
            return candidate
    return -1


def _live(services: Services) -> Iterable[BrokerImage]:
    """Where nobody is (all have just come back, and none has been heard yet) this broker names itself: a client that is told of no
    broker at all drops every connection it has, and librdkafka may never make another."""
    brokers = services.replicas.image.brokers
    return [broker for broker in brokers.values() if broker.live] or [
        broker for broker in brokers.values() if broker.id == services.config.node_id
    ]


async def _create_missing(services: Services, names: list[str]) -> dict[str, ErrorCode]:
    """Creates what does not exist, as Kafka does when a producer first names a topic; what was refused, and why."""
    missing = [name for name in dict.fromkeys(names) if name not in services.replicas.image.topics]
    if not missing:
        return {}
    command = CreateTopics([NewTopic(name) for name in missing])
    try:
        reply = await services.submit(command, AUTO_CREATION_TIMEOUT_MS)
    except BrokerError:
        return dict.fromkeys(missing, ErrorCode.LEADER_NOT_AVAILABLE)
    assert isinstance(reply, CreateTopicsReply)
    codes = {result.name: ErrorCode(result.error) for result in reply.results}
    return {name: code for name, code in codes.items() if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)}


def _asked_for(services: Services, name: str | None, topic_id: bytes, refused: dict[str, ErrorCode]) -> MetadataResponseTopic:
    image = services.replicas.image
    if name is None:
        known = image.topic(topic_id)
        if known is None:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
        return _topic(services, known)
    topic = image.topics.get(name)
    if topic is not None:
        return _topic(services, topic)
    try:
        check_name(name)
    except BrokerError as problem:
        return MetadataResponseTopic(problem.code, name, ZERO_UUID)
    return MetadataResponseTopic(_lasting(refused.get(name)), name, ZERO_UUID)


def _lasting(refusal: ErrorCode | None) -> ErrorCode:
    """Too few brokers for the default replication is a state that passes; clients retry on this code."""
    if refusal == ErrorCode.INVALID_REPLICATION_FACTOR:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return refusal or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(services: Services, topic: TopicImage) -> MetadataResponseTopic:
    partitions = [_partition(services, topic.partitions[index]) for index in sorted(topic.partitions)]
    return MetadataResponseTopic(ErrorCode.NONE, topic.name, topic.id, is_internal(topic.name), partitions)


def _partition(services: Services, partition: PartitionImage) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        ErrorCode.LEADER_NOT_AVAILABLE if partition.leaderless else ErrorCode.NONE,
        partition.index,
        partition.leader,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
        _offline(services, partition),
    )


def _described(services: Services, partition: PartitionImage) -> DescribeTopicPartitionsResponsePartition:
    plain = _partition(services, partition)
    return DescribeTopicPartitionsResponsePartition(
        plain.error_code,
        plain.partition_index,
        plain.leader_id,
        plain.leader_epoch,
        plain.replica_nodes,
        plain.isr_nodes,
        list(partition.elr),
        offline_replicas=plain.offline_replicas,
    )


def _offline(services: Services, partition: PartitionImage) -> list[int]:
    brokers = services.replicas.image.brokers
    return [replica for replica in partition.replicas if replica not in brokers or brokers[replica].fenced]
