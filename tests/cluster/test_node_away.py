"""Topics made and deleted while a third of the nodes is away: the node that returns has the same as all others."""

from confluent_kafka.cimpl import NewTopic

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import read_all
from tests.cluster.topics import administer, create_topic, fill, topics_of
from tests.cluster.watching import DEADLINE, Watch, eventually


def test_topics_made_and_deleted_while_a_node_is_away_are_the_same_everywhere_after_its_return(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 3, settings={"log.segment.delete.delay.ms": 1000}) as cluster:
        for topic in ("doomed", "renewed", "kept"):
            create_topic(cluster, topic, 2)
            fill(cluster, topic, 2)
            Watch(cluster, topic).await_in_sync()
        away = Watch(cluster, "kept").leader(0)
        old = cluster.data_path(away)
        cluster.kill(away)
        admin = administer(cluster.bootstrap)
        for future in admin.delete_topics(["doomed", "renewed"], operation_timeout=30, request_timeout=60).values():
            future.result(DEADLINE)
        new = [NewTopic("made", 2, 3), NewTopic("renewed", 3, 3)]
        for future in admin.create_topics(new, operation_timeout=30, request_timeout=60).values():
            future.result(DEADLINE)
        fill(cluster, "renewed", 3)
        assert sorted(path.name for path in old.glob("renewed-*")) == ["renewed-0", "renewed-1"]
        cluster.start_node(away)
        cluster.wait_ready()
        for topic in ("made", "renewed", "kept"):
            Watch(cluster, topic).await_in_sync()
        told = {node.id: topics_of(node.address) for node in cluster.plan.nodes}
        assert told[1] == told[2] == told[3]
        assert {topic: len(partitions) for topic, partitions in told[1].items()} == {"made": 2, "renewed": 3, "kept": 2}
        assert len(read_all(cluster.bootstrap, "renewed", 3)) == 3
        eventually(lambda: folders(cluster, away) == folders(cluster, away % 3 + 1), "the logs of deleted topics are gone")
        assert not any("doomed" in name for name in folders(cluster, away))


def folders(cluster: LocalCluster, node: int) -> list[str]:
    return sorted(path.name for path in cluster.data_path(node).glob("*-*") if path.is_dir())
