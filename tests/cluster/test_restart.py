"""A broker that starts knows nothing until it has caught up with the metadata: it keeps clients waiting instead of denying their topics."""

from concurrent.futures import ThreadPoolExecutor

from harness.systems.local_cluster import LocalCluster
from tests.cluster.topics import create_topic, topics_of
from tests.cluster.watching import DEADLINE, eventually


def test_who_asks_a_broker_that_has_not_caught_up_gets_the_answer_once_it_has(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 3) as cluster:
        create_topic(cluster, "orders", 2)
        for node in cluster.ids:
            cluster.kill(node)
        cluster.start_node(1)
        eventually(lambda: cluster.health(1) is not None, "node 1 listens, with no quorum to tell it anything")
        with ThreadPoolExecutor(1) as threads:
            topics = threads.submit(topics_of, cluster.plan.nodes[0].address)
            for node in (2, 3):
                cluster.start_node(node)
            assert topics.result(DEADLINE) == {"orders": {0: [1, 2, 3], 1: [1, 2, 3]}}
