"""Every API this broker speaks, and in which versions. What is not in `APIS` does not exist.

Produce is advertised from version 0 although 0 to 2 are refused: older librdkafka turns features off unless the
advertised range contains versions that nobody sends any more.
"""

from dataclasses import dataclass
from typing import Protocol

from broker_impl.protocol.messages import (
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_quorum,
    describe_topic_partitions,
    elect_leaders,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)

PRODUCE = 0
FETCH = 1
API_VERSIONS = api_versions.KEY


@dataclass(frozen=True, slots=True)
class Api:
    """One API. `request` and `response` are None where a codec written by hand takes their place."""

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_since: int
    served_since: int
    request: type | None = None
    response: type | None = None

    def serves(self, version: int) -> bool:
        return self.served_since <= version <= self.max_version

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_since


class _Module(Protocol):
    KEY: int
    NAME: str
    MIN_VERSION: int
    MAX_VERSION: int
    FLEXIBLE_SINCE: int


def _declared(module: _Module, request: type, response: type) -> Api:
    lowest = module.MIN_VERSION
    return Api(module.KEY, module.NAME, lowest, module.MAX_VERSION, module.FLEXIBLE_SINCE, lowest, request, response)


_ALL = (
    Api(PRODUCE, "Produce", min_version=0, max_version=10, flexible_since=9, served_since=3),
    Api(FETCH, "Fetch", min_version=4, max_version=16, flexible_since=12, served_since=4),
    _declared(list_offsets, list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse),
    _declared(metadata, metadata.MetadataRequest, metadata.MetadataResponse),
    _declared(find_coordinator, find_coordinator.FindCoordinatorRequest, find_coordinator.FindCoordinatorResponse),
    _declared(api_versions, api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse),
    _declared(create_topics, create_topics.CreateTopicsRequest, create_topics.CreateTopicsResponse),
    _declared(delete_topics, delete_topics.DeleteTopicsRequest, delete_topics.DeleteTopicsResponse),
    _declared(init_producer_id, init_producer_id.InitProducerIdRequest, init_producer_id.InitProducerIdResponse),
    _declared(
        offset_for_leader_epoch,
        offset_for_leader_epoch.OffsetForLeaderEpochRequest,
        offset_for_leader_epoch.OffsetForLeaderEpochResponse,
    ),
    _declared(describe_configs, describe_configs.DescribeConfigsRequest, describe_configs.DescribeConfigsResponse),
    _declared(create_partitions, create_partitions.CreatePartitionsRequest, create_partitions.CreatePartitionsResponse),
    _declared(elect_leaders, elect_leaders.ElectLeadersRequest, elect_leaders.ElectLeadersResponse),
    _declared(
        incremental_alter_configs,
        incremental_alter_configs.IncrementalAlterConfigsRequest,
        incremental_alter_configs.IncrementalAlterConfigsResponse,
    ),
    _declared(describe_quorum, describe_quorum.DescribeQuorumRequest, describe_quorum.DescribeQuorumResponse),
    _declared(describe_cluster, describe_cluster.DescribeClusterRequest, describe_cluster.DescribeClusterResponse),
    _declared(
        describe_topic_partitions,
        describe_topic_partitions.DescribeTopicPartitionsRequest,
        describe_topic_partitions.DescribeTopicPartitionsResponse,
    ),
)

APIS: dict[int, Api] = {api.key: api for api in _ALL}
