"""A batch that rots on the leader's disk, below the end of its log, while it alone holds the partition.

A follower that starts anew meets it. Neither may the damage spread nor may anybody go round in circles: the partition stops, with a word
of it in both logs, and all other partitions go on.
"""

import json
import shutil
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from broker_impl.replication.fetchers import CORRUPT_ATTEMPTS
from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import CONSUMER, PRODUCER, read_all, silent_logger
from tests.cluster.storm import SETTINGS, create_topic
from tests.cluster.watching import DEADLINE, Watch, eventually

MESSAGES = 30


def test_a_damaged_batch_stops_its_partition_and_nothing_else(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 3, settings=SETTINGS) as cluster:
        for topic in ("rotten", "sound"):
            create_topic(cluster, topic, 1)
            fill(cluster, topic)
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
        for follower in followers:
            eventually(lambda node=follower: stopped(cluster, node), f"node {follower} stops to fetch")
        Watch(cluster, "sound").await_in_sync()
        assert fill(cluster, "sound") == MESSAGES
        assert len(read_all(cluster.bootstrap, "sound", 1)) == 2 * MESSAGES
        assert "KAFKA_STORAGE_ERROR" in first_error(cluster, "rotten")
        met = [len(events(cluster, follower, "corrupt-batch")) for follower in followers]
        assert all(count <= CORRUPT_ATTEMPTS for count in met) and any(met), met
        for node in cluster.ids:
            assert cluster.alive(node)


def fill(cluster: LocalCluster, topic: str) -> int:
    """A batch a message; returns how many were stored."""
    stored: list[Message] = []
    settings = {"bootstrap.servers": cluster.bootstrap, "delivery.timeout.ms": 60_000, "batch.num.messages": 1}
    producer = Producer(PRODUCER | settings, logger=silent_logger())
    for number in range(MESSAGES):
        producer.produce(topic, f"0:0:{number:07d}" + "." * 100, on_delivery=lambda error, message: stored.extend([message] * (error is None)))
    producer.flush(DEADLINE)
    return len(stored)


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


def stopped(cluster: LocalCluster, node: int) -> bool:
    return bool(events(cluster, node, "log-offline"))


def first_error(cluster: LocalCluster, topic: str) -> str:
    """What a consumer is told that wants to read it."""
    told: list[str] = []
    consumer = Consumer(CONSUMER | {"bootstrap.servers": cluster.bootstrap}, logger=silent_logger())
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    try:
        eventually(lambda: bool(told) or refused(consumer, told), "the consumer is told")
    finally:
        consumer.close()
    return told[0]


def refused(consumer: Consumer, told: list[str]) -> bool:
    message = consumer.poll(0.1)
    if message is not None and message.error() is not None:
        told.append(message.error().name())
    return bool(told)
