"""A follower never cuts its log: what it has beyond the new leader's stays, and the leader's messages are put behind it.

Stands for replication without any check of divergence (what KIP-101 and KIP-279 mend). The replicas differ for ever, and
which of two values consumers see at an offset depends on who leads.

Exposed by a leader that is cut off with messages nobody else has, and comes back as a follower.
"""

from typing import Any

from broker_impl.plugins import replace
from broker_impl.replication.fetchers import Fetcher
from broker_impl.replication.replica import Replica

ARM = "cluster"
PLAN = "cut-and-kill"
ANOMALIES = ("replica-divergence", "read-conflict", "lost")


def install() -> None:
    replace("broker_impl.api.fetch:_Fetch._divergence", lambda self, replica, wanted: None)

    def _start_over(self: Fetcher, replica: Replica, fetched: Any) -> None:
        self._delay(replica)

    replace("broker_impl.replication.fetchers:Fetcher._start_over", _start_over)
