"""The high watermark is the leader's own log end, whatever the followers have.

Stands for a high watermark computed from the wrong set of replicas. Consumers read, and producers are told of, what a failover takes
back; the next leader puts other messages at the same offsets.

Exposed by cutting the leader from its followers under load and killing it.
"""

from broker_impl.plugins import replace
from broker_impl.replication.partition import Partition

ARM = "cluster"
PLAN = "cut-and-kill"
ANOMALIES = ("lost-after-read", "read-conflict", "lost")


def install() -> None:
    def _advance(self: Partition, now: float) -> bool:
        if self.log_end <= self.high_watermark:
            return False
        self.high_watermark = self.log_end
        return True

    replace("broker_impl.replication.partition:Partition._advance", _advance)
