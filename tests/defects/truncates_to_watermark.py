"""A broker that starts cuts its logs at the high watermark it had written down, instead of by leader epoch.

Kafka did so until 0.11; KIP-101 tells both stories of loss. The watermark on disk is seconds old, so when all replicas die at once
each cuts off what every one of them had, and whoever leads first makes the loss final.

Exposed by killing all replicas at once under load.
"""

from typing import Any

from broker_impl.plugins import replace
from broker_impl.replication.replica import Replica
from broker_impl.replication.replicas import Replicas

ARM = "cluster"
PLAN = "kill-all"
ANOMALIES = ("lost", "lost-after-read")


def install() -> None:
    sound = replace("broker_impl.replication.replicas:Replicas._host", None)

    def _host(self: Replicas, *details: Any) -> Replica:
        replica: Replica = sound(self, *details)
        if replica.state.high_watermark < replica.log.end_offset:
            replica.truncate(replica.state.high_watermark)
        return replica

    replace("broker_impl.replication.replicas:Replicas._host", _host)
