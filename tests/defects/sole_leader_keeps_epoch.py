"""A broker that is alone in the ISR and comes back leads on in the leader epoch it had before.

Stands for an epoch that is bound to the broker and not to its incarnation. If its crash took the tail of its log, two different batches
bear the same epoch and offset, and a follower that has the first one never learns of the second.

Exposed by tearing the tail of the leader's log after its followers have fetched it.
"""

from collections.abc import Collection
from dataclasses import replace as changed

from broker_impl.plugins import replace
from broker_impl.quorum.elections import Outside
from broker_impl.quorum.image import PartitionImage
from broker_impl.quorum.records import NO_LEADER

ARM = "cluster"
PLAN = "torn-sole-leader"
ANOMALIES = ("replica-divergence", "read-conflict", "ack-conflict", "lost")


def install() -> None:
    sound = replace("broker_impl.quorum.elections:with_state", None)

    def with_state(partition: PartitionImage, isr: Collection[int], leader: int, outside: Outside) -> PartitionImage:
        found: PartitionImage = sound(partition, isr, leader, outside)
        alone = len(found.isr) == 1 and found.isr == partition.isr
        if found is not partition and alone and NO_LEADER in (partition.leader, leader):
            return changed(found, leader_epoch=partition.leader_epoch)
        return found

    replace("broker_impl.quorum.elections:with_state", with_state)
