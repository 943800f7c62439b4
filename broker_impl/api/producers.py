"""Identities for idempotent producers: ids from a block that the controller gave to this broker alone."""

import asyncio

from broker_impl.api.services import Services
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from broker_impl.quorum.commands import AllocateProducerIds, ProducerIdBlock

TIMEOUT_S = 5.0


class ProducerIds:
    """Invariant: no id is given twice, in this process or by another: a block asked for is used here or never."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0
        self._asking = asyncio.Lock()

    async def init_producer_id(self, services: Services, request: InitProducerIdRequest, version: int) -> InitProducerIdResponse:
        if request.transactional_id is not None:
            return InitProducerIdResponse(0, ErrorCode.NOT_COORDINATOR)
        if (request.producer_id >= 0) != (request.producer_epoch >= 0):
            return InitProducerIdResponse(0, ErrorCode.INVALID_REQUEST)
        try:
            return InitProducerIdResponse(0, ErrorCode.NONE, await self._take(services), 0)
        except BrokerError:
            return InitProducerIdResponse(0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    async def _take(self, services: Services) -> int:
        if self._next == self._end:
            async with self._asking:
                if self._next == self._end:
                    await self._ask(services)
        self._next += 1
        return self._next - 1

    async def _ask(self, services: Services) -> None:
        command = AllocateProducerIds(services.config.node_id, services.replicas.broker_epoch)
        reply = await services.quorum.submit(command, TIMEOUT_S, again_if_lost=True)
        assert isinstance(reply, ProducerIdBlock)
        if reply.error:
            raise BrokerError(ErrorCode(reply.error), reply.message)
        self._next, self._end = reply.first, reply.first + reply.count
