"""Clients with an old or a wrong idea of who leads: told so, and told where to go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker_impl.protocol.errors import ErrorCode
from broker_impl.protocol.messages.describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopic,
)
from broker_impl.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from broker_impl.protocol.messages.list_offsets import (
    LATEST,
    MAX_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from broker_impl.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from broker_impl.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from broker_impl.protocol.produce import parse_produce_response
from tests.clients.conftest import THREE_NODES
from tests.clients.running import Running, wait_until
from tests.clients.wire import WireClient, batch_of, fetch_body, produce_body, values_of

START = 1_700_000_000_000
Ask = Callable[[WireClient, str, int], int]
PRODUCE, FETCH = 0, 1


@THREE_NODES
def test_a_follower_refuses_a_produce_and_names_the_leader(running: Running) -> None:
    leader, follower, topic = _two(running)
    with running.wire(follower) as wire:
        wire.send(PRODUCE, 10, produce_body({topic: [(0, batch_of(b"value"))]}))

        answer = parse_produce_response(*wire.receive(PRODUCE, 10), 10)
    result = answer.topics[0][1][0]
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result.current_leader == (leader, running.topic(topic).partitions[0].leader_epoch)
    assert [(each.node_id, each.port) for each in answer.node_endpoints] == [(leader, running.cluster.plan.nodes[leader - 1].port)]


@THREE_NODES
def test_a_follower_refuses_a_fetch_and_names_the_leader(running: Running) -> None:
    leader, follower, topic = _two(running)
    topic_id = running.topic(topic).topic_id
    with running.wire(follower) as wire:
        wire.send(FETCH, 16, fetch_body(topic_id, 0, 0, -1, -1, 1 << 20, 0, 16))
        answer = wire.receive_fetch(16)
    result = answer.topics[0].partitions[0]
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result.current_leader is not None and result.current_leader[0] == leader
    assert [each.node_id for each in answer.node_endpoints] == [leader]


def _fetch(wire: WireClient, topic: str, epoch: int) -> int:
    return wire.fetch(topic, 0, epoch=epoch).error_code


def _list_offsets(wire: WireClient, topic: str, epoch: int) -> int:
    wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(0, epoch, LATEST)])
    return wire.ask(ListOffsetsRequest(topics=[wanted]), ListOffsetsResponse).topics[0].partitions[0].error_code


def _listed(wire: WireClient, topic: str, timestamp: int) -> int:
    wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, timestamp)])
    return wire.ask(ListOffsetsRequest(topics=[wanted]), ListOffsetsResponse).topics[0].partitions[0].offset


def _epoch_end(wire: WireClient, topic: str, epoch: int) -> int:
    wanted = OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(0, epoch, 0)])
    return wire.ask(OffsetForLeaderEpochRequest(topics=[wanted]), OffsetForLeaderEpochResponse).topics[0].partitions[0].error_code


@pytest.mark.parametrize("ask", [_fetch, _list_offsets, _epoch_end], ids=["fetch", "list-offsets", "epoch-end"])
def test_epochs_of_the_past_and_of_the_future_are_refused(running: Running, ask: Ask) -> None:
    topic = running.new_topic()
    _new_epoch(running, topic)
    epoch = running.topic(topic).partitions[0].leader_epoch
    assert epoch > 0
    with running.wire_to_leader(topic) as wire:
        assert ask(wire, topic, epoch) == ErrorCode.NONE
        assert ask(wire, topic, -1) == ErrorCode.NONE
        assert ask(wire, topic, epoch - 1) == ErrorCode.FENCED_LEADER_EPOCH
        assert ask(wire, topic, epoch + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_log_that_parted_from_the_leaders_is_told_where(running: Running) -> None:
    topic = running.new_topic()
    with running.wire_to_leader(topic) as wire:
        wire.produce(topic, batch_of(b"0", b"1"))
        answer = wire.fetch(topic, 50, last_epoch=0)
    assert answer.diverging_epoch == (0, 2)


def test_a_topic_may_be_fetched_by_its_id(running: Running) -> None:
    topic = running.new_topic()
    topic_id = running.topic(topic).topic_id
    with running.wire_to_leader(topic) as wire:
        wire.produce(topic, batch_of(b"value"))
        for version in range(13, 17):
            assert values_of(wire.fetch(topic_id, 0, version=version)) == [b"value"]


@pytest.mark.parametrize("version", [13, 16])
def test_an_unknown_topic_id_is_named_as_such(running: Running, version: int) -> None:
    with running.wire() as wire:
        assert wire.fetch(bytes(range(16)), 0, version=version).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_metadata_may_be_asked_by_topic_id(running: Running) -> None:
    topic = running.new_topic()
    topic_id = running.topic(topic).topic_id
    with running.wire() as wire:
        known = wire.ask(MetadataRequest([MetadataRequestTopic(topic_id, None)]), MetadataResponse)
        unknown = wire.ask(MetadataRequest([MetadataRequestTopic(bytes(range(16)), None)]), MetadataResponse)
    assert (known.topics[0].name, known.topics[0].error_code) == (topic, ErrorCode.NONE)
    assert unknown.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [10, 11])
def test_versions_that_cannot_ask_by_id_say_so(running: Running, version: int) -> None:
    with running.wire() as wire:
        answer = wire.ask(MetadataRequest([MetadataRequestTopic(bytes(range(16)), None)]), MetadataResponse, version)
    assert answer.topics[0].error_code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INVALID_REQUEST)


@THREE_NODES
def test_nobody_is_told_of_what_is_not_committed(running: Running) -> None:
    """The in-sync set is too small for the topic: what the leader takes with acks=1 waits above the high watermark."""
    leader, follower, _topic = _two(running)
    topic = running.new_topic(replicas=[leader, follower], min_insync_replicas=2)
    with running.wire(leader) as wire:
        wire.produce(topic, batch_of(b"committed", timestamp=START))
        running.stop(follower)
        wait_until(lambda: len(running.topic(topic, leader).partitions[0].isr_nodes) == 1, "the follower to leave the in-sync set")
        assert wire.produce(topic, batch_of(b"refused")).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert wire.produce(topic, batch_of(b"not yet", timestamp=START + 1000), acks=1).base_offset == 1
        assert values_of(wire.fetch(topic, 0)) == [b"committed"]
        assert [_listed(wire, topic, timestamp) for timestamp in (LATEST, MAX_TIMESTAMP, START + 1, START)] == [1, -1, -1, 0]
        running.start(follower)
        running.wait_in_sync(topic)
        wait_until(lambda: _listed(wire, topic, LATEST) == 2, "the second message to be committed")
        assert [_listed(wire, topic, timestamp) for timestamp in (MAX_TIMESTAMP, START + 1)] == [1, 1]


def test_partitions_are_described_in_pages_each_once(running: Running) -> None:
    topics = sorted(running.new_topic(partitions=3) for _ in range(3))
    described: list[tuple[str | None, int]] = []
    cursor = None
    with running.wire() as wire:
        while True:
            request = DescribeTopicPartitionsRequest([TopicRequest(topic) for topic in topics], 3, cursor)
            answer = wire.ask(request, DescribeTopicPartitionsResponse)
            assert all(topic.partitions for topic in answer.topics), "no page names a topic it tells nothing about"
            described += [(topic.name, partition.partition_index) for topic in answer.topics for partition in topic.partitions]
            cursor = answer.next_cursor
            if cursor is None:
                break
    assert described == [(topic, index) for topic in topics for index in range(3)]


def test_every_broker_can_describe_the_quorum(running: Running) -> None:
    """A client asks whom it is connected to; where the controller is need not concern it."""
    request = DescribeQuorumRequest([DescribeQuorumTopic("__cluster_metadata", [DescribeQuorumPartition(0)])])

    def told(node: int) -> tuple[int, int, list[int]]:
        with running.wire(node) as wire:
            partition = wire.ask(request, DescribeQuorumResponse).topics[0].partitions[0]
        return partition.error_code, partition.leader_id, [voter.replica_id for voter in partition.current_voters]

    for node in running.nodes:
        expected = (ErrorCode.NONE, running.cluster.controller(), running.nodes)
        wait_until(lambda node=node, expected=expected: told(node) == expected, f"node {node} to describe the quorum")  # type: ignore[misc]


def _two(running: Running) -> tuple[int, int, str]:
    """A leader, a follower of it and the topic."""
    topic = running.new_topic()
    leader = running.leader(topic)
    return leader, next(node for node in running.nodes if node != leader), topic


def _new_epoch(running: Running, topic: str) -> None:
    """A restart of the leader gives the partition a new epoch, whoever leads in it."""
    leader = running.leader(topic)
    running.stop(leader)
    running.start(leader)
    running.wait_in_sync(topic)
    running.wait_for_leader(topic)
