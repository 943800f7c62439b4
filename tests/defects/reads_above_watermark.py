"""Consumers are given everything in the leader's log, committed or not.

Stands for brokers that let consumers read to the log's end. What was read and not replicated disappears with its leader.

Exposed by cutting the leader from its followers while consumers still reach it, and killing it.
"""

from broker_impl.plugins import replace
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import LogSlice

ARM = "cluster"
PLAN = "cut-and-kill"
ANOMALIES = ("lost-after-read", "read-conflict")


def install() -> None:
    def read_for_consumer(self: Replica, offset: int, max_bytes: int, at_least_one: bool) -> LogSlice:
        return self.read_for_follower(offset, max_bytes, at_least_one)

    replace("broker_impl.replication.replica:Replica.read_for_consumer", read_for_consumer)
