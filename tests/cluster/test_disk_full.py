"""A disk that is full: writes are refused, reads go on, and when there is room again everything is as if nothing had been.

The data directory of node 1 is a small tmpfs, mounted in a mount namespace of that broker alone: nothing shows outside of it, and it is
gone with the process. From outside it is reached through /proc.
"""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewTopic

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import Load, read_all
from tests.cluster.storm import SETTINGS
from tests.cluster.topics import administer, create_topic, refusal, topics_of
from tests.cluster.verdict import broken_promises, differing_replicas
from tests.cluster.watching import DEADLINE, Watch, eventually

UNSHARE = ["unshare", "--map-root-user", "--user", "--mount"]
ON_A_SMALL_DISK = f"""
case "$2" in
*/node-1/*)
    data="$(dirname "$2")/data"
    mkdir -p "$data"
    exec {" ".join(UNSHARE)} sh -c 'mount -t tmpfs -o size=12m tmpfs "$0" && exec "$@"' "$data" {sys.executable} -m broker_impl "$@" ;;
*)  exec {sys.executable} -m broker_impl "$@" ;;
esac
"""


@pytest.fixture
def cluster(tmp_path):
    try:
        tried = subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare(1) here")
    if tried.returncode:
        pytest.skip(f"a mount namespace of one's own is not to be had here: {tried.stderr.strip()}")
    with LocalCluster.create(tmp_path / "cluster", 3, settings=SETTINGS, command=["sh", "-c", ON_A_SMALL_DISK, "sh"]) as cluster:
        yield cluster


def test_a_full_disk_refuses_writes_and_nothing_else_until_there_is_room(cluster, tmp_path):
    assign(cluster, "alone", [[1]])
    create_topic(cluster, "together", 3)
    watch = Watch(cluster, "together")
    message = b"x" * 50_000
    with Load(cluster.bootstrap, "together", 3, tmp_path / "seen.json") as load:
        load.await_more(100)
        assert refusal(cluster, "alone", message) is None
        ballast = fill_up(inside(cluster, 1))
        eventually(lambda: refusal(cluster, "alone", message) == "KAFKA_STORAGE_ERROR", "the write is refused")
        stored = read_all(cluster.bootstrap, "alone", 1)
        assert stored
        eventually(lambda: not watch.follows(1), "the others go on without node 1")
        assign(cluster, "elsewhere", [[2, 3]] * 100)
        eventually(lambda: "quorum-disk-full" in cluster.log_path(1).read_text(), "its metadata log is full too")
        load.await_more(100)
        assert cluster.alive(1)
        assert read_all(cluster.bootstrap, "alone", 1)[: len(stored)] == stored
        ballast.unlink()
        eventually(lambda: refusal(cluster, "alone", message) is None, "there is room again")
        eventually(watch.all_isrs_full, "node 1 catches up")
        eventually(lambda: "elsewhere" in topics_of(cluster.plan.nodes[0].address), "and with the metadata too")
        seen = load.finish()
    assert broken_promises(seen, read_all(cluster.bootstrap, "together", 3)) == []
    homes = [inside(cluster, node) for node in cluster.ids]
    eventually(lambda: differing_replicas(homes, "together", 3) == [], "the replicas are alike")


def assign(cluster: LocalCluster, topic: str, replicas: list[list[int]]) -> None:
    """A topic whose partitions lie where they are told to. If the full disk is the controller's, its successor is asked next."""
    admin = administer(cluster.bootstrap)
    new = NewTopic(topic, len(replicas), replica_assignment=replicas)

    def made() -> bool:
        try:
            admin.create_topics([new], operation_timeout=30)[topic].result(DEADLINE)
        except KafkaException as problem:
            return bool(problem.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
        return True

    eventually(made, f"{topic} is made")


def inside(cluster: LocalCluster, node: int) -> Path:
    """The data directory as the broker sees it."""
    return Path(f"/proc/{cluster.pid(node)}/root{cluster.data_path(node)}")


def fill_up(directory: Path) -> Path:
    """A file that takes all the room there is."""
    path = directory / "ballast"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as problem:
                assert problem.errno == errno.ENOSPC
    return path
