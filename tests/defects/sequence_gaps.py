"""A batch may skip sequence numbers: the broker takes what comes and does not miss what did not.

Stands for sequence checks that only look for repetition. A batch that overtakes another on its way is stored first, and the one it
overtook is then taken for old.

Exposed on the wire: a client that leaves a gap must be refused with OUT_OF_ORDER_SEQUENCE_NUMBER.
"""

from broker_impl.plugins import replace
from broker_impl.storage.batch import BatchHeader
from broker_impl.transactions.producers import Duplicate, ProducerStates

ARM = "wire"
ANOMALIES = ("sequence gap accepted",)


def install() -> None:
    sound = replace("broker_impl.transactions.producers:ProducerStates.check", None)

    def check(self: ProducerStates, header: BatchHeader) -> Duplicate | None:
        producer = self._producers.get(header.producer_id)
        if producer is not None and header.producer_epoch == producer.epoch and header.base_sequence > producer.next_sequence:
            return None
        found: Duplicate | None = sound(self, header)
        return found

    replace("broker_impl.transactions.producers:ProducerStates.check", check)
