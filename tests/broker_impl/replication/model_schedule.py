"""A schedule from a seed: which step comes next, drawn with weights that keep the cluster busy, broken and healing by turns."""

import random
from collections import Counter
from collections.abc import Callable

from broker_impl.replication.partition import Partition, PartitionSettings
from tests.broker_impl.replication.model_cluster import ModelCluster
from tests.broker_impl.replication.model_node import Truncation

LAG_S = 4.0


class Schedule:
    """`seen` counts the states that make a run worth something."""

    def __init__(self, seed: int, truncation: Truncation = Truncation.BY_EPOCH, machine_type: type[Partition] = Partition) -> None:
        self.random = random.Random(seed)
        settings = PartitionSettings(min_insync=self.random.choice((1, 2, 2)), lag_s=LAG_S, flush_counts=self.random.random() < 0.5)
        replicas = self.random.choice(((1, 2), (1, 2, 3), (1, 2, 3), (3, 1, 2, 4)))
        self.cluster = ModelCluster(settings, replicas, truncation, machine_type)
        self.seen: Counter[str] = Counter()
        self._steps: list[tuple[Callable[[int], None], int]] = [
            (self._produce, 34), (self._fetch, 50), (self._deliver, 130), (self._flush, 30), (self._metadata, 36), (self._tick, 12),
            (self._lose, 6), (self._give_up, 10), (self._jump, 2), (self._fence, 2), (self._unfence, 40), (self._crash, 3),
            (self._stop, 1), (self._restart, 30), (self._elect, 8), (self._checkpoint, 4), (self._configure, 1),
        ]  # fmt: skip

    def run(self, steps: int) -> None:
        actions = [action for action, _ in self._steps]
        weights = [weight for _, weight in self._steps]
        brokers = list(self.cluster.nodes)
        for action in self.random.choices(actions, weights, k=steps):
            action(self.random.choice(brokers))
            self.cluster.check()

    def heal(self) -> None:
        self.cluster.heal()
        for node in self.cluster.nodes.values():
            self.seen["acknowledged"] += len(node.acknowledged)
            self.seen["truncated"] += node.truncations
        self.seen["leader changed"] = self.cluster.controller.state.leader_epoch - 1
        self.seen["proposal lost"] = self.cluster.lost_proposals

    def _produce(self, broker: int) -> None:
        leaders = [node.broker for node in self.cluster.nodes.values() if node.leads()]
        self.seen["two leaders at once"] += len(leaders) > 1
        if leaders:
            self.cluster.produce(self.random.choice(leaders), acks_all=self.random.random() < 0.7)

    def _fetch(self, broker: int) -> None:
        self.cluster.send_fetch(broker)

    def _deliver(self, broker: int) -> None:
        network = self.cluster.network
        if network:
            position = -1 if self.random.random() < 0.6 else self.random.randrange(len(network))
            self.cluster.deliver(position, keep=self.random.random() < 0.15, limit=self.random.randint(1, 3))

    def _lose(self, broker: int) -> None:
        if self.cluster.network:
            self.cluster.drop(self.random.randrange(len(self.cluster.network)))

    def _metadata(self, broker: int) -> None:
        self.cluster.hear_metadata(broker, self.random.choice((1, 1, 2, 1_000_000)))

    def _jump(self, broker: int) -> None:
        self.cluster.nodes[broker].now += self.random.choice((0.3, 1.0, LAG_S + 1, 1000.0, -2.0))

    def _tick(self, broker: int) -> None:
        self.cluster.nodes[broker].now += self.random.uniform(0, 1.5)
        self.cluster.tick(broker)

    def _flush(self, broker: int) -> None:
        self.cluster.flush(broker)

    def _give_up(self, broker: int) -> None:
        self.cluster.give_up_proposal(broker)

    def _fence(self, broker: int) -> None:
        self.cluster.controller.fence(broker)

    def _unfence(self, broker: int) -> None:
        self.cluster.unfence(broker)

    def _crash(self, broker: int) -> None:
        self.cluster.crash(broker, self.random.randint(0, 3))

    def _stop(self, broker: int) -> None:
        self.cluster.stop_cleanly(broker)

    def _restart(self, broker: int) -> None:
        self.cluster.restart(broker)

    def _elect(self, broker: int) -> None:
        self.cluster.controller.elect(broker)

    def _checkpoint(self, broker: int) -> None:
        node = self.cluster.nodes[broker]
        if node.machine is not None:
            node.checkpoint = node.machine.high_watermark

    def _configure(self, broker: int) -> None:
        node, settings = self.cluster.nodes[broker], self.cluster.settings
        if node.machine is not None:
            node.machine.configure(PartitionSettings(self.random.randint(1, 3), LAG_S, settings.flush_counts), node.now)
