"""Nodes that come back with less than they had, or too late to find the rest: they take from the leader what there is, and no more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import Load, read_all
from tests.cluster.storm import SETTINGS, TOPIC
from tests.cluster.topics import create_topic
from tests.cluster.verdict import broken_promises, differing_replicas, log_size
from tests.cluster.watching import Watch, eventually

PARTITIONS = 3


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
def test_torn_tails_and_missing_indexes_of_a_killed_node_are_mended_from_the_others(tmp_path, seed):
    rng = random.Random(seed)
    cluster = LocalCluster.create(tmp_path / "cluster", 3, settings=SETTINGS)
    with cluster:
        create_topic(cluster, TOPIC, PARTITIONS)
        watch = Watch(cluster, TOPIC)
        with Load(cluster.bootstrap, TOPIC, PARTITIONS, tmp_path / "seen.json") as load:
            for node in rng.sample(cluster.ids, 3) * 2:
                load.await_more(500)
                eventually(watch.all_isrs_full, "the ISRs are full")
                cluster.kill(node)
                for partition in range(PARTITIONS):
                    spoil(cluster.data_path(node) / f"{TOPIC}-{partition}", rng)
                cluster.start_node(node)
                cluster.wait_ready()
            seen = load.finish()
        watch.await_in_sync()
        final = read_all(cluster.bootstrap, TOPIC, PARTITIONS)
    assert broken_promises(seen, final) == []
    assert differing_replicas(map(cluster.data_path, cluster.ids), TOPIC, PARTITIONS) == []


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_follower_that_was_away_longer_than_data_is_kept_begins_where_the_leader_does(tmp_path):
    settings = dict(SETTINGS) | {"log.retention.check.interval.ms": 500, "log.segment.delete.delay.ms": 500}
    cluster = LocalCluster.create(tmp_path / "cluster", 3, settings=settings)
    with cluster:
        create_topic(cluster, TOPIC, 1, {"segment.bytes": "65536", "retention.bytes": "131072"})
        watch = Watch(cluster, TOPIC)
        with Load(cluster.bootstrap, TOPIC, 1, tmp_path / "seen.json", rate=200) as load:
            load.await_more(200)
            leader = watch.leader(0)
            away = next(node for node in cluster.ids if node != leader)
            cluster.kill(away)
            left = first_segment(cluster, away)
            eventually(lambda: first_segment(cluster, leader) > left + 2000, "the leader has dropped what the follower would need")
            cluster.start_node(away)
            cluster.wait_ready()
            eventually(watch.all_isrs_full, "the follower is in sync again")
            load.await_more(200)
            seen = load.finish()
        eventually(lambda: len({log_size(cluster.data_path(node), TOPIC, 0) for node in cluster.ids}) == 1, "all logs have one size")
    ends = {log_end(cluster.data_path(node)) for node in cluster.ids}
    assert len(ends) == 1 and seen.failed == []
    assert first_segment(cluster, away) > left


def spoil(folder: Path, rng: random.Random) -> None:
    """The end of the last segment is cut off or overwritten, and indexes are gone."""
    last = max(folder.glob("*.log"))
    size = last.stat().st_size
    if size:
        place = rng.randrange(max(0, size - 2000), size)
        with open(last, "r+b") as file:
            if rng.random() < 0.5:
                file.truncate(place)
            else:
                file.seek(place)
                file.write(rng.randbytes(size - place))
    for index in folder.glob("*index"):
        if rng.random() < 0.5:
            index.unlink()


def first_segment(cluster: LocalCluster, node: int) -> int:
    return min(int(path.stem) for path in (cluster.data_path(node) / f"{TOPIC}-0").glob("*.log"))


def log_end(data: Path) -> bytes:
    """The last bytes of a log, which hold its last batch."""
    return max((data / f"{TOPIC}-0").glob("*.log")).read_bytes()[-500:]
