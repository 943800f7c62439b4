"""`./highwater cluster` with real brokers: three nodes, from the first start to the second."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.systems.local_cluster import LocalCluster


class Shell:
    """What a user types, against one cluster."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What was printed; mistakes are printed elsewhere, so they count too."""
        outcome = main(["cluster", *arguments, "--data", str(self.data)])
        printed = self._capsys.readouterr()
        assert outcome == code, printed
        return printed.out + printed.err

    def status(self) -> dict:
        return json.loads(self("status", "--json"))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    cluster = LocalCluster.create(tmp_path_factory.mktemp("cluster"), 3)
    with cluster:
        yield cluster


@pytest.fixture
def cluster(running, capsys) -> Shell:
    return Shell(running.directory, capsys)


def test_the_status_tells_brokers_controller_and_partitions(cluster, running):
    cluster("topics", "create", "orders", "--partitions", "3", "--replicas", "3")
    eventually(lambda: len(partitions_of(cluster, "orders")) == 3)
    status = cluster.status()
    assert status["controller"] in (1, 2, 3)
    found = [(broker["id"], broker["pid"], broker["alive"]) for broker in status["brokers"]]
    assert found == [(node, running.pid(node), True) for node in (1, 2, 3)]
    orders = [partition for partition in status["partitions"] if partition["topic"] == "orders"]
    assert [partition["partition"] for partition in orders] == [0, 1, 2]
    assert {partition["leader"] for partition in orders} == {1, 2, 3}
    assert all(sorted(partition["replicas"]) == [1, 2, 3] == sorted(partition["isr"]) for partition in orders)
    assert all(set(partition) == {"topic", "partition", "leader", "epoch", "replicas", "isr"} for partition in orders)


def test_topics_are_created_listed_and_deleted(cluster):
    assert cluster("topics", "create", "short-lived", "--config", "retention.ms=1000") == "created short-lived\n"
    eventually(lambda: "short-lived  0" in cluster("topics"))
    assert cluster("topics", "delete", "short-lived") == "deleted short-lived\n"
    eventually(lambda: "short-lived" not in cluster("topics"))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["topics", "create", "a/b"], "topic a/b was not created"),
        (["topics", "create", "wide", "--replicas", "9"], "topic wide was not created"),
        (["topics", "create", "odd", "--config", "no.such.setting=1"], "topic odd was not created"),
        (["topics", "delete", "nowhere"], "topic nowhere was not deleted"),
        (["elect", "nowhere"], "there is no topic nowhere"),
    ],
)
def test_what_the_cluster_refuses_is_the_users_mistake(cluster, arguments, words):
    assert words in cluster(*arguments, code=254)


def test_an_election_gives_leadership_back_after_a_node_returned(cluster, running):
    cluster("topics", "create", "returned", "--partitions", "3", "--replicas", "3")
    running.restart(2)
    running.wait_ready()
    eventually(lambda: [len(partition["isr"]) for partition in partitions_of(cluster, "returned")] == [3, 3, 3])
    assert "first live replica" in cluster("elect", "returned")
    eventually(lambda: all(partition["leader"] == partition["replicas"][0] for partition in partitions_of(cluster, "returned")))


def test_a_cluster_keeps_its_topics_and_its_name_when_it_is_started_again(tmp_path, capsys):
    shell = Shell(tmp_path / "data", capsys)
    assert "bootstrap=127.0.0.1:" in shell("up", "--nodes", "3", "--port", "0", "--detach")
    shell("topics", "create", "kept")
    before = LocalCluster.open(shell.data).plan
    assert shell("down") == "stopped\n"
    assert [broker["alive"] for broker in shell.status()["brokers"]] == [False, False, False]
    shell("up", "--detach")
    try:
        assert LocalCluster.open(shell.data).plan == before
        eventually(lambda: [partition["topic"] for partition in shell.status()["partitions"]] == ["kept"])
    finally:
        shell("down")


def partitions_of(cluster: Shell, topic: str) -> list[dict]:
    return [partition for partition in cluster.status()["partitions"] if partition["topic"] == topic]


def eventually(holds: Callable[[], bool]) -> None:
    """Brokers learn of a change, and followers catch up, in their own time; should it never be, the test's time limit ends it."""
    while not holds():
        time.sleep(0.02)
