"""The controller takes an ISR from whoever sends it: leader, leader epoch and partition epoch are not compared.

Stands for ISR changes that are not fenced, what KIP-497 and KIP-903 are about. While leaders wrote the state of a partition themselves,
leader and ISR in one node of ZooKeeper, nothing but the compared version kept a deposed one from writing itself back into office.

A leader is cut off, finds its followers late and wishes for an ISR of itself alone; no controller hears it, so it goes on wishing.
Meanwhile the controller gives it up, and the others acknowledge without it. Back again, it wishes on before it knows that it was deposed.
An ISR holds its leader, so a controller that grants the wish makes it the leader again, and the others cut off what was acknowledged
without it.

Exposed by a leader that is cut off for longer than its session, and reaches the controller before it reaches the other replicas: with
those it would have caught up before its wish arrives.
"""

from collections.abc import Collection
from typing import Any

from broker_impl.plugins import replace
from broker_impl.quorum.elections import Outside
from broker_impl.quorum.image import PartitionImage

ARM = "cluster"
PLAN = "cut-off-and-back"
ANOMALIES = ("lost", "lost-after-read", "read-conflict")


def install() -> None:
    def _compare(*state: Any) -> None:
        return None

    sound = replace("broker_impl.quorum.partitions:with_state", None)

    def with_state(partition: PartitionImage, isr: Collection[int], leader: int, outside: Outside) -> PartitionImage:
        """An image in which the leader is outside of the ISR contradicts itself: of such an ISR the first leads, as in every election."""
        first = next(replica for replica in partition.replicas if replica in isr)
        altered: PartitionImage = sound(partition, isr, leader if leader in isr else first, outside)
        return altered

    replace("broker_impl.quorum.partitions:_compare", _compare)
    replace("broker_impl.quorum.partitions:with_state", with_state)
