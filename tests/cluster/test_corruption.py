"""A batch that rots on the leader's disk, below the end of its log, while it alone holds the partition.

A follower that starts anew meets it. Neither may the damage spread nor may anybody go round in circles: the partition stops, with a word
of it in both logs, and all other partitions go on.
"""

import json
import shutil
from pathlib import Path

from broker_impl.replication.fetchers import CORRUPT_ATTEMPTS
from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import read_all
from tests.cluster.storm import SETTINGS
from tests.cluster.topics import create_topic, fill, refusal
from tests.cluster.watching import Watch, eventually

MESSAGES = 30


def test_a_damaged_batch_stops_its_partition_and_nothing_else(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 3, settings=SETTINGS) as cluster:
        for topic in ("rotten", "sound"):
            create_topic(cluster, topic, 1)
            fill(cluster, topic, messages=MESSAGES)
            Watch(cluster, topic).await_in_sync()
        leader = Watch(cluster, "rotten").leader(0)
        followers = [node for node in cluster.ids if node != leader]
        for follower in followers:
            assert cluster.stop_node(follower)
            shutil.rmtree(cluster.data_path(follower) / "rotten-0")
        flip_a_byte(cluster.data_path(leader) / "rotten-0" / f"{0:020d}.log")
        for follower in followers:
            cluster.start_node(follower)
        cluster.wait_ready()
        eventually(lambda: len(events(cluster, leader, "log-offline")) == 1, "the leader takes the partition offline")
        eventually(lambda: any(events(cluster, follower, "log-offline") for follower in followers), "a follower stops to fetch")
        Watch(cluster, "sound").await_in_sync()
        assert fill(cluster, "sound", messages=MESSAGES) == MESSAGES
        assert len(read_all(cluster.bootstrap, "sound", 1)) == 2 * MESSAGES
        assert refusal(cluster, "rotten") == "KAFKA_STORAGE_ERROR"
        for node in cluster.ids:
            assert cluster.alive(node)
            assert len(events(cluster, node, "corrupt-batch")) <= CORRUPT_ATTEMPTS
            assert len(events(cluster, node, "log-offline")) <= 1


def flip_a_byte(log: Path) -> None:
    with open(log, "r+b") as file:
        middle = log.stat().st_size // 2
        file.seek(middle)
        (old,) = file.read(1)
        file.seek(middle)
        file.write(bytes([old ^ 0x10]))


def events(cluster: LocalCluster, node: int, name: str) -> list[dict]:
    lines = (json.loads(line) for line in cluster.log_path(node).read_text().splitlines() if line.startswith("{"))
    return [line for line in lines if line.get("event") == name and line.get("topic") == "rotten"]
