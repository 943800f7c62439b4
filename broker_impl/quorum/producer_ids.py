"""Producer ids are given to brokers in blocks, so that a new producer costs the quorum nothing most of the time.

A block is never given twice: what a broker had left of its block when it stopped is lost, and there are 2^63.
"""

from broker_impl.protocol.errors import BrokerError
from broker_impl.quorum.brokers import require_current
from broker_impl.quorum.commands import AllocateProducerIds, ProducerIdBlock
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import ProducerIdsAllocated, Record

BLOCK_SIZE = 1000


def allocate(image: Image, command: AllocateProducerIds) -> tuple[list[Record], ProducerIdBlock]:
    try:
        require_current(image, command.id, command.epoch)
    except BrokerError as refusal:
        return [], ProducerIdBlock(-1, 0, refusal.code, refusal.message)
    first = image.next_producer_id
    return [ProducerIdsAllocated(command.id, first + BLOCK_SIZE)], ProducerIdBlock(first, BLOCK_SIZE)
