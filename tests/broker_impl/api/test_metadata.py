"""Whom clients are told of, and to whom they are told to send their commands."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker_impl.api.metadata import describe_cluster, metadata
from broker_impl.protocol.messages.describe_cluster import DescribeClusterRequest
from broker_impl.protocol.messages.metadata import MetadataRequest
from broker_impl.quorum.image import BrokerImage, Image


def services(node: int, controller: int, live: set[int], fenced: set[int]) -> Any:
    brokers = {number: BrokerImage(number, 1, "i", "h", 9000 + number, None, number in fenced) for number in live | fenced}
    return cast(
        Any,
        SimpleNamespace(
            config=SimpleNamespace(node_id=node, cluster_id="c", auto_create_topics=False),
            quorum=SimpleNamespace(controller_id=controller),
            replicas=SimpleNamespace(image=Image(brokers=brokers)),
        ),
    )


@pytest.mark.parametrize(
    ("controller", "live", "fenced", "told"),
    [
        (3, {1, 2, 3}, set(), 3),
        (-1, {1, 2, 3}, set(), 2),
        (9, {1, 2, 3}, set(), 2),
        (3, {1, 2}, {3}, 2),
        (-1, {1, 3}, {2}, 1),
        (-1, set(), {1, 2, 3}, 2),
    ],
    ids=["the controller", "unknown", "no broker", "fenced", "unknown and we are fenced", "nobody lives"],
)
def test_clients_are_told_of_a_live_broker_that_passes_commands_on(controller: int, live: set[int], fenced: set[int], told: int) -> None:
    response = describe_cluster(services(2, controller, live, fenced), DescribeClusterRequest(), 1)
    assert response.controller_id == told


@pytest.mark.parametrize(
    ("live", "fenced", "told"),
    [({1, 3}, {2}, [1, 3]), ({1, 2, 3}, set(), [1, 2, 3]), (set(), {1, 2, 3}, [2])],
    ids=["we are fenced", "all live", "nobody lives"],
)
def test_clients_are_never_told_that_there_is_no_broker(live: set[int], fenced: set[int], told: list[int]) -> None:
    asked = services(2, -1, live, fenced)
    assert [broker.broker_id for broker in describe_cluster(asked, DescribeClusterRequest(), 1).brokers] == told
    assert [broker.node_id for broker in asyncio.run(metadata(asked, MetadataRequest([]), 12)).brokers] == told
