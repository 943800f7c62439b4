"""The model cluster under Hypothesis: it picks the steps, and shrinks a sequence that breaks a promise to a short story."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_impl.replication.partition import PartitionSettings
from tests.broker_impl.replication.model_cluster import ModelCluster

BROKERS = st.sampled_from((1, 2, 3))
FEW = st.integers(0, 3)


class PartitionCluster(RuleBasedStateMachine):
    cluster: ModelCluster

    @initialize(min_insync=st.integers(1, 3), flush_counts=st.booleans())
    def start(self, min_insync: int, flush_counts: bool) -> None:
        self.cluster = ModelCluster(PartitionSettings(min_insync, 4.0, flush_counts))

    @rule(broker=BROKERS, acks_all=st.booleans())
    def produce(self, broker: int, acks_all: bool) -> None:
        self.cluster.produce(broker, acks_all=acks_all)

    @rule(broker=BROKERS)
    def fetch_undisturbed(self, broker: int) -> None:
        if self.cluster.send_fetch(broker) is not None:
            self.cluster.deliver(-1)
            self.cluster.check()
            if self.cluster.network:
                self.cluster.deliver(-1)

    @rule(broker=BROKERS)
    def send_fetch(self, broker: int) -> None:
        self.cluster.send_fetch(broker)

    @precondition(lambda self: self.cluster.network)
    @rule(data=st.data(), keep=st.booleans(), limit=st.integers(1, 3))
    def deliver(self, data: st.DataObject, keep: bool, limit: int) -> None:
        self.cluster.deliver(data.draw(st.integers(0, len(self.cluster.network) - 1)), keep=keep, limit=limit)

    @precondition(lambda self: self.cluster.network)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        self.cluster.drop(data.draw(st.integers(0, len(self.cluster.network) - 1)))

    @rule(broker=BROKERS)
    def give_up_proposal(self, broker: int) -> None:
        self.cluster.give_up_proposal(broker)

    @rule(broker=BROKERS, seconds=st.sampled_from((0.0, 0.6, 5.0, 1000.0, -3.0)))
    def tick(self, broker: int, seconds: float) -> None:
        self.cluster.nodes[broker].now += seconds
        self.cluster.tick(broker)

    @rule(broker=BROKERS, entries=st.sampled_from((1, 2, 1_000_000)))
    def hear_metadata(self, broker: int, entries: int) -> None:
        self.cluster.hear_metadata(broker, entries)

    @rule(broker=BROKERS)
    def flush(self, broker: int) -> None:
        self.cluster.flush(broker)

    @rule(broker=BROKERS)
    def fence(self, broker: int) -> None:
        self.cluster.controller.fence(broker)

    @rule(broker=BROKERS)
    def unfence(self, broker: int) -> None:
        self.cluster.unfence(broker)

    @rule(broker=BROKERS)
    def elect(self, broker: int) -> None:
        self.cluster.controller.elect(broker)

    @rule(broker=BROKERS, kept=FEW)
    def crash(self, broker: int, kept: int) -> None:
        self.cluster.crash(broker, kept)

    @rule(broker=BROKERS)
    def stop_cleanly(self, broker: int) -> None:
        self.cluster.stop_cleanly(broker)

    @rule(broker=BROKERS)
    def restart(self, broker: int) -> None:
        self.cluster.restart(broker)

    @rule(broker=BROKERS, min_insync=st.integers(1, 3))
    def configure(self, broker: int, min_insync: int) -> None:
        node = self.cluster.nodes[broker]
        if node.machine is not None:
            node.machine.configure(PartitionSettings(min_insync, 4.0, self.cluster.settings.flush_counts), node.now)

    @invariant()
    def promises_hold(self) -> None:
        if hasattr(self, "cluster"):
            self.cluster.check()

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            self.cluster.heal(rounds=12)


class ManyPartitionClusters(PartitionCluster):
    pass


_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
PartitionCluster.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=_QUIET)
ManyPartitionClusters.TestCase.settings = settings(max_examples=3000, stateful_step_count=120, deadline=None, suppress_health_check=_QUIET)

TestPartitionCluster = PartitionCluster.TestCase
TestManyPartitionClusters = pytest.mark.long(pytest.mark.timeout(3000)(ManyPartitionClusters.TestCase))
