"""When nobody of the ISR is alive any replica may lead, although the topic forbids it.

Stands for `unclean.leader.election.enable`, Kafka's default until 0.11, and the loss that Jepsen showed with Kafka 0.8. Everything a
replica missed while it was away is gone as soon as it leads.

Exposed by killing brokers one after the other, so that the last ones alive have more than those that return first.
"""

from collections.abc import Set
from typing import Any

from broker_impl.plugins import replace
from broker_impl.quorum.image import PartitionImage

ARM = "cluster"
PLAN = "staggered-kills"
ANOMALIES = ("lost", "lost-after-read", "read-conflict")


def install() -> None:
    sound = replace("broker_impl.quorum.elections:elect", None)

    def elect(partition: PartitionImage, live: Set[int], min_isr: int, *, unclean: bool = False, **details: Any) -> Any:
        return sound(partition, live, min_isr, unclean=True, **details)

    replace("broker_impl.quorum.elections:elect", elect)
