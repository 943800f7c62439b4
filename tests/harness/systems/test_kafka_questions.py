"""What a Kafka broker is asked over the wire, asked of our own: it answers the same protocol and starts in no time."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka.admin import AdminClient

from harness.nodes import Node, Result
from harness.systems.broker_questions import ask_metadata
from harness.systems.kafka_questions import CLOCK_TOPIC, ask_clock, create_clock_topic, known_leader
from harness.systems.local_cluster import LocalCluster


class Here:
    """This machine as a node, as far as questions need one."""

    shares_files = True

    def __init__(self, folder: Path) -> None:
        self.address, self.folder = "127.0.0.1", folder

    def run(self, command, *, timeout: float, **_: object) -> Result:
        done = subprocess.run(command, capture_output=True, timeout=timeout)
        return Result(done.returncode, done.stdout, done.stderr)

    def get(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()


@pytest.fixture
def node(tmp_path) -> Node:
    return cast(Node, Here(tmp_path))


@pytest.fixture(scope="module")
def port(tmp_path_factory) -> Iterator[int]:
    with LocalCluster.create(tmp_path_factory.mktemp("asked"), 1) as cluster:
        yield int(cluster.bootstrap.rpartition(":")[2])


def test_a_broker_is_among_those_it_knows(node, port):
    known = ask_metadata(node, port)
    assert known is not None and known.brokers == {1}


def test_the_clock_is_read_from_the_date_of_a_message(node, port):
    assert create_clock_topic(node, port, [1])
    assert create_clock_topic(node, port, [1]), "it is there already"
    topic = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(CLOCK_TOPIC, timeout=60).topics[CLOCK_TOPIC]
    assert [partition.replicas for partition in topic.partitions.values()] == [[1]]
    error = ask_clock(node, port, 0)
    assert error is not None and error.admits(0.0)
    assert error.most - error.least < 60.0


def test_a_partition_the_broker_does_not_have_tells_no_time(node, port):
    create_clock_topic(node, port, [1])
    assert ask_clock(node, port, 7) is None


def test_where_nobody_listens_there_is_no_answer(node):
    assert ask_clock(node, 1, 0) is None
    assert not create_clock_topic(node, 1, [1])


@pytest.mark.parametrize(
    "written, known",
    [
        ({"leaderId": 2, "leaderEpoch": 7, "votedId": -1, "data_version": 0}, (7, 2)),
        ({"leaderId": -1, "leaderEpoch": 8}, None),
        ({"something": "else"}, None),
        (None, None),
    ],
)
def test_whom_a_node_takes_for_the_controller_stands_in_its_files(node, tmp_path, written, known):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    if written is not None:
        (folder / "quorum-state").write_text(json.dumps(written))
    assert known_leader(node, str(tmp_path)) == known
