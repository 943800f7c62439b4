"""A new leader starts with no memory of the producers.

Stands for producer state kept in memory of the leader only (Redpanda issue 3039). A retry to the new leader is stored again, though
the batch came with the log.

Exposed by killing leaders with requests in flight.
"""

from broker_impl.plugins import replace
from broker_impl.storage.log import Log
from broker_impl.transactions.producers import ProducerStates

ARM = "cluster"
PLAN = "cut-clients-and-kill"
ANOMALIES = ("duplicate", "reordered")


def install() -> None:
    sound = replace("broker_impl.storage.log:Log.assign_epoch", None)

    def assign_epoch(self: Log, epoch: int, start_offset: int) -> None:
        sound(self, epoch, start_offset)
        self._producers = ProducerStates()

    replace("broker_impl.storage.log:Log.assign_epoch", assign_epoch)
