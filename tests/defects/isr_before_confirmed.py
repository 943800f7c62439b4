"""A leader that wishes a follower out of the ISR no longer waits for it, before the controller has agreed.

Stands for state that is applied before it is committed (Redpanda 21.10; KIP-497 makes Kafka's maximal ISR explicit). The controller
still counts the follower, and may make it the leader: without what was acknowledged meanwhile.

Exposed by cutting the leader and one follower off from everybody else, with a replica lag shorter than the session.
"""

from collections.abc import Sequence

from broker_impl.plugins import replace
from broker_impl.replication.isr import InSyncReplicas, IsrChange

ARM = "cluster"
PLAN = "leader-cut-with-short-lag"
ANOMALIES = ("lost", "lost-after-read", "read-conflict")


def install() -> None:
    def propose(self: InSyncReplicas, leader_epoch: int, new_isr: Sequence[tuple[int, int]]) -> IsrChange:
        self.in_flight = IsrChange(leader_epoch, self.partition_epoch, tuple(new_isr))
        self.committed = tuple(broker for broker, _ in new_isr)
        self.maximal = frozenset(self.committed)
        return self.in_flight

    sound = replace("broker_impl.replication.partition:Partition._propose", None)

    def _propose(self, members, live_epochs):
        change = sound(self, members, live_epochs)
        if change is not None:
            for replica, follower in self._followers.items():
                follower.counted = follower.live = replica in self._isr.maximal
        return change

    replace("broker_impl.replication.isr:InSyncReplicas.propose", propose)
    replace("broker_impl.replication.partition:Partition._propose", _propose)
