"""A broker that starts knows nothing until it has caught up with the metadata: it keeps clients waiting instead of denying their topics."""

from concurrent.futures import ThreadPoolExecutor

from confluent_kafka.admin import AdminClient

from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import CLIENT, silent_logger
from tests.cluster.storm import create_topic
from tests.cluster.watching import DEADLINE, eventually


def test_who_asks_a_broker_that_has_not_caught_up_gets_the_answer_once_it_has(tmp_path):
    with LocalCluster.create(tmp_path / "cluster", 3) as cluster:
        create_topic(cluster, "orders", 2)
        for node in cluster.ids:
            cluster.kill(node)
        cluster.start_node(1)
        eventually(lambda: cluster.health(1) is not None, "node 1 listens, with no quorum to tell it anything")
        bootstrap = {"bootstrap.servers": cluster.plan.nodes[0].address, "socket.timeout.ms": 60_000}
        with ThreadPoolExecutor(1) as threads:
            listing = threads.submit(AdminClient(CLIENT | bootstrap, logger=silent_logger()).list_topics, "orders", 60)
            for node in (2, 3):
                cluster.start_node(node)
            found = listing.result(DEADLINE).topics["orders"]
            assert (found.error, len(found.partitions)) == (None, 2)
