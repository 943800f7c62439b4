"""A broker that is stopped in good order hands over its work: no message fails, nothing is lost, and it gets its leaderships back."""

from harness.systems.admin import connect
from harness.systems.local_cluster import LocalCluster
from tests.cluster.load import Load, read_all
from tests.cluster.storm import SETTINGS, TOPIC
from tests.cluster.topics import create_topic
from tests.cluster.verdict import broken_promises, differing_replicas
from tests.cluster.watching import Watch, eventually


def test_each_node_is_restarted_in_turn_under_load_and_no_message_fails(tmp_path):
    cluster = LocalCluster.create(tmp_path / "cluster", 3, settings=SETTINGS)
    with cluster:
        create_topic(cluster, TOPIC, 3)
        watch = Watch(cluster, TOPIC)
        before = {number: partition.leader for number, partition in watch.partitions().items()}
        with Load(cluster.bootstrap, TOPIC, 3, tmp_path / "seen.json") as load:
            load.await_more(100)
            for node in cluster.ids:
                assert cluster.stop_node(node), f"node {node} had to be killed"
                load.await_more(50)
                cluster.start_node(node)
                cluster.wait_ready()
                eventually(watch.all_isrs_full, "the ISRs are full again")
            with connect(cluster.bootstrap) as admin:
                admin.elect_preferred([TOPIC])
            eventually(
                lambda: {number: partition.leader for number, partition in watch.partitions().items()} == before,
                "the preferred replicas lead again",
            )
            load.await_more(50)
            seen = load.finish()
        watch.await_in_sync()
        final = read_all(cluster.bootstrap, TOPIC, 3)
    assert seen.failed == []
    assert broken_promises(seen, final) == []
    assert differing_replicas(map(cluster.data_path, cluster.ids), TOPIC, 3) == []
