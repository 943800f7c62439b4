"""Topics made, grown, deleted, and leaders elected: requests for the controller, from whichever broker the client asked."""

from broker_impl.api.services import Services
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.messages import create_partitions as partitions_message
from broker_impl.protocol.messages import create_topics as topics_message
from broker_impl.protocol.messages import delete_topics as deletion_message
from broker_impl.protocol.messages import elect_leaders as election_message
from broker_impl.protocol.wire import ZERO_UUID
from broker_impl.quorum import topic_configs
from broker_impl.quorum.commands import (
    CreatePartitions,
    CreatePartitionsReply,
    CreateTopics,
    CreateTopicsReply,
    DeleteTopics,
    DeleteTopicsReply,
    ElectLeaders,
    ElectLeadersReply,
    MorePartitions,
    NewTopic,
    TopicCreation,
)


async def create_topics(
    services: Services, request: topics_message.CreateTopicsRequest, version: int
) -> topics_message.CreateTopicsResponse:
    command = CreateTopics([_new_topic(topic) for topic in request.topics], request.validate_only)
    try:
        reply = await services.submit(command, request.timeout_ms)
    except BrokerError as problem:
        refused = [
            topics_message.CreatableTopicResult(topic.name, ZERO_UUID, problem.code, problem.message, configs=[])
            for topic in request.topics
        ]
        return topics_message.CreateTopicsResponse(0, refused)
    assert isinstance(reply, CreateTopicsReply)
    return topics_message.CreateTopicsResponse(0, [_created(services, result) for result in reply.results])


async def delete_topics(
    services: Services, request: deletion_message.DeleteTopicsRequest, version: int
) -> deletion_message.DeleteTopicsResponse:
    names = request.topic_names or [topic.name for topic in request.topics if topic.name is not None]
    ids = [topic.topic_id for topic in request.topics if topic.name is None]
    result = deletion_message.DeletableTopicResult
    try:
        reply = await services.submit(DeleteTopics(names, ids), request.timeout_ms)
    except BrokerError as problem:
        by_name = [result(name, ZERO_UUID, problem.code, problem.message) for name in names]
        by_id = [result(None, topic_id, problem.code, problem.message) for topic_id in ids]
        return deletion_message.DeleteTopicsResponse(0, by_name + by_id)
    assert isinstance(reply, DeleteTopicsReply)
    answers = [result(each.name, each.id or ZERO_UUID, each.error, each.message or None) for each in reply.results]
    return deletion_message.DeleteTopicsResponse(0, answers)


async def create_partitions(
    services: Services, request: partitions_message.CreatePartitionsRequest, version: int
) -> partitions_message.CreatePartitionsResponse:
    wanted = [MorePartitions(topic.name, topic.count, _replica_lists(topic)) for topic in request.topics]
    result = partitions_message.CreatePartitionsTopicResult
    try:
        reply = await services.submit(CreatePartitions(wanted, request.validate_only), request.timeout_ms)
    except BrokerError as problem:
        refused = [result(topic.name, problem.code, problem.message) for topic in request.topics]
        return partitions_message.CreatePartitionsResponse(0, refused)
    assert isinstance(reply, CreatePartitionsReply)
    answers = [result(each.name, each.error, each.message or None) for each in reply.results]
    return partitions_message.CreatePartitionsResponse(0, answers)


async def elect_leaders(
    services: Services, request: election_message.ElectLeadersRequest, version: int
) -> election_message.ElectLeadersResponse:
    wanted = None
    if request.topic_partitions is not None:
        wanted = [(topic.topic, index) for topic in request.topic_partitions for index in topic.partitions]
    try:
        reply = await services.submit(ElectLeaders(request.election_type == election_message.UNCLEAN, wanted), request.timeout_ms)
    except BrokerError as problem:
        return election_message.ElectLeadersResponse(0, problem.code)
    assert isinstance(reply, ElectLeadersReply)
    topics: dict[str, election_message.ReplicaElectionResult] = {}
    for each in reply.results:
        topic = topics.setdefault(each.topic, election_message.ReplicaElectionResult(each.topic, []))
        topic.partition_result.append(election_message.PartitionResult(each.index, each.error, each.message or None))
    return election_message.ElectLeadersResponse(0, ErrorCode.NONE, list(topics.values()))


def _new_topic(topic: topics_message.CreatableTopic) -> NewTopic:
    assignment = [(each.partition_index, list(each.broker_ids)) for each in topic.assignments] or None
    configs = {config.name: config.value for config in topic.configs}
    return NewTopic(topic.name, topic.num_partitions, topic.replication_factor, assignment, configs)


def _created(services: Services, result: TopicCreation) -> topics_message.CreatableTopicResult:
    configs = [] if result.error else _configs(services, result.name)
    return topics_message.CreatableTopicResult(
        result.name,
        result.id or ZERO_UUID,
        result.error,
        result.message or None,
        0,
        result.partitions,
        result.replication_factor,
        configs,
    )


def _configs(services: Services, topic: str) -> list[topics_message.CreatableTopicConfigs]:
    entries = topic_configs.describe(services.replicas.image, topic, services.config.topic_defaults, services.config.node_id)
    return [topics_message.CreatableTopicConfigs(entry.config.name, entry.value, False, entry.source) for entry in entries]


def _replica_lists(topic: partitions_message.CreatePartitionsTopic) -> list[list[int]] | None:
    return None if topic.assignments is None else [list(each.broker_ids) for each in topic.assignments]
