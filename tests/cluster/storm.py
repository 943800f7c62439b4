"""A cluster under load and under fire, and the question whether it kept its word.

The order matters: faults first, then everything is healed and every replica has caught up, then the clients' messages get their fate,
then the log is read by a fresh consumer, then the brokers stop cleanly and their files are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.systems.cluster_plan import Setting
from harness.systems.local_cluster import LocalCluster
from tests.cluster.faults import Nemesis
from tests.cluster.load import Load, Seen, read_all
from tests.cluster.topics import create_topic
from tests.cluster.verdict import broken_promises, differing_replicas
from tests.cluster.watching import Watch

TOPIC = "storm"
SETTINGS: Mapping[str, Setting] = {
    "replica.lag.time.max.ms": 2000,
    "log.segment.bytes": 128 * 1024,
    "metadata.log.max.record.bytes.between.snapshots": 1024,
    "replica.high.watermark.checkpoint.interval.ms": 1000,
}
"""Short, so that a storm of seconds sees ISRs shrink, segments roll and metadata snapshots."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    seen: Seen
    problems: list[str]
    story: list[str]

    def check(self) -> None:
        assert self.seen.acked, "nothing was acknowledged: the storm proves nothing"
        assert not self.problems, "\n".join([*self.problems, "", *self.story])


def storm(
    directory: Path,
    nodes: int,
    rage: Callable[[Nemesis, Load], None],
    *,
    seed: int,
    partitions: int = 4,
    topic_settings: Mapping[str, str] | None = None,
) -> Aftermath:
    """`rage` does what is to be done to the brokers, while clients write and read."""
    cluster = LocalCluster.create(directory / "cluster", nodes, settings=SETTINGS)
    with cluster:
        create_topic(cluster, TOPIC, partitions, topic_settings)
        watch = Watch(cluster, TOPIC)
        nemesis = Nemesis(cluster, watch, seed)
        with Load(cluster.bootstrap, TOPIC, partitions, directory / "seen.json") as load:
            load.await_more(100)
            rage(nemesis, load)
            cluster.wait_ready()
            load.await_more(100)
            seen = load.finish()
        watch.await_in_sync()
        final = read_all(cluster.bootstrap, TOPIC, partitions)
        hung = [f"node {node} did not stop when it was told to" for node in cluster.stop()]
    differing = differing_replicas((cluster.data_path(node) for node in cluster.ids), TOPIC, partitions)
    return Aftermath(seen, [*broken_promises(seen, final), *differing, *hung], nemesis.story)
