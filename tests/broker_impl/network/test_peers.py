"""Commands to the controller, which may be cut off."""

import asyncio
import socket

from broker_impl.config import Address
from broker_impl.network import link
from broker_impl.network.peers import NOT_CONTROLLER, Peers
from broker_impl.quorum.commands import Heartbeat

DEADLINE_S = 60.0


def test_a_controller_that_cannot_be_reached_is_not_waited_for_longer_than_its_command_may_take(monkeypatch) -> None:
    """Else brokers would go on connecting to a controller that was cut off while its successor waits for their heartbeats."""
    monkeypatch.setattr(link, "CONNECT_TIMEOUT_S", 10 * DEADLINE_S)

    async def scenario(address: Address) -> None:
        peers = Peers(asyncio.get_running_loop(), "cluster", 1, address, {2: address})
        try:
            async with asyncio.timeout(DEADLINE_S):
                assert await peers.ask(2, Heartbeat(1, 1, 1, False), 0.01) is NOT_CONTROLLER
        finally:
            peers.close()

    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for filling in (first, second):  # who comes later hears nothing
            filling.setblocking(False)
            filling.connect_ex(deaf.getsockname())
        asyncio.run(scenario(Address(*deaf.getsockname())))
