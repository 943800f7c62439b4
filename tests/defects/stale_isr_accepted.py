"""The controller takes an ISR change from whoever sends it: leader, leader epoch and partition epoch are not compared.

Stands for ISR changes that are not fenced, what KIP-497 and KIP-903 are about. A leader that was away comes back,
finds all its followers late, and makes itself the only member of an ISR that is no longer its own; the next election goes to it.

Exposed by a leader that is cut off until another is elected, and reaches the controller before it reaches the other replicas.
"""

from typing import Any

from broker_impl.plugins import replace

ARM = "cluster"
PLAN = "cut-off-and-back"
ANOMALIES = ("lost", "lost-after-read", "read-conflict")


def install() -> None:
    def _compare(*state: Any) -> None:
        return None

    replace("broker_impl.quorum.partitions:_compare", _compare)
