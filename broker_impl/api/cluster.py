"""What this broker speaks (ApiVersions), how the quorum stands (DescribeQuorum), where coordinators are (FindCoordinator)."""

from broker_impl.api.services import Services
from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from broker_impl.protocol.messages.describe_quorum import (
    DescribeQuorumPartitionResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopicResponse,
    Listener,
    Node,
    ReplicaState,
)
from broker_impl.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from broker_impl.protocol.registry import APIS

METADATA_TOPIC = "__cluster_metadata"
BATCHED_SINCE = 4
NO_GROUPS = "consumer groups and transactions are not served by this broker yet"


def api_versions(services: Services, request: ApiVersionsRequest, version: int) -> ApiVersionsResponse:
    served = [ApiVersion(api.key, api.min_version, api.max_version) for api in sorted(APIS.values(), key=lambda api: api.key)]
    return ApiVersionsResponse(ErrorCode.NONE, served)


def find_coordinator(services: Services, request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
    missing = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if version < BATCHED_SINCE:
        return FindCoordinatorResponse(0, missing, NO_GROUPS, -1, "", -1)
    return FindCoordinatorResponse(coordinators=[Coordinator(key, -1, "", -1, missing, NO_GROUPS) for key in request.coordinator_keys])


def describe_quorum(services: Services, request: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
    topics = []
    for topic in request.topics:
        partitions = [_partition(services, topic.topic_name, wanted.partition_index) for wanted in topic.partitions]
        topics.append(DescribeQuorumTopicResponse(topic.topic_name, partitions))
    nodes = [Node(node, [Listener("PLAINTEXT", address.host, address.port)]) for node, address in services.config.voters]
    return DescribeQuorumResponse(ErrorCode.NONE, None, topics, nodes)


def _partition(services: Services, topic: str, index: int) -> DescribeQuorumPartitionResponse:
    raft = services.quorum.raft
    if (topic, index) != (METADATA_TOPIC, 0):
        return DescribeQuorumPartitionResponse(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "only the metadata log has a quorum")
    if not raft.serving:
        leader = services.quorum.controller_id
        return DescribeQuorumPartitionResponse(
            index, ErrorCode.NOT_LEADER_OR_FOLLOWER, f"ask the controller, node {leader}", leader, raft.term
        )
    voters = {node for node, _address in services.config.voters}
    wall_ms, now = services.machine.wall_ms(), services.loop.time()
    states = {services.config.node_id: ReplicaState(services.config.node_id, log_end_offset=raft.last_index + 1)}
    for node, progress in services.quorum.progress().items():
        heard = wall_ms - int((now - progress.last_contact) * 1000) if progress.last_contact >= 0 else -1
        states[node] = ReplicaState(
            node, log_end_offset=progress.match_index + 1, last_fetch_timestamp=heard, last_caught_up_timestamp=heard
        )
    return DescribeQuorumPartitionResponse(
        index,
        ErrorCode.NONE,
        None,
        services.config.node_id,
        raft.term,
        raft.commit_index + 1,
        [states[node] for node in sorted(states) if node in voters],
        [states[node] for node in sorted(states) if node not in voters],
    )
