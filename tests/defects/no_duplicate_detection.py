"""The leader stores whatever an idempotent producer sends, however often it comes.

Stands for brokers that accept idempotent producers and ignore their sequence numbers (Kafka before KIP-98). A retry whose first try was
stored, and whose answer was lost, is stored twice.

Exposed by cutting clients off from leaders, so that answers are lost.
"""

from broker_impl.plugins import replace

ARM = "cluster"
PLAN = "cut-clients-and-kill"
ANOMALIES = ("duplicate", "reordered")


def install() -> None:
    replace("broker_impl.transactions.producers:ProducerStates.check", lambda self, header: None)
