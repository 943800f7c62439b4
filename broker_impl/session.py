"""This broker's standing with the controller: it registers, heartbeats, and leaves in good order.

The lease is this broker's own view of its session: it ends before the controller's does, because it is counted from
when a heartbeat was *sent*. A broker past its lease refuses to lead: someone else may have been chosen already.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from broker_impl.api.services import Services
from broker_impl.machine import randomness
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import Heartbeat, HeartbeatReply, RegisterBroker, Registered

REGISTER_TIMEOUT_S = 5.0
LEAVE_TIMEOUT_S = 10.0


MOST_DEPOSITIONS = 3
DEPOSITION_WINDOW_S = 60.0


class Deposed(Exception):
    """Another process registers under this node's id, again and again."""


class _Superseded(Exception):
    """The controller knows another incarnation of this node."""


class Session:
    def __init__(self, services: Services, clean_epoch: int | None, log_ends: Callable[[], list[tuple[bytes, int, int, int]]]) -> None:
        """`log_ends`: topic id, partition, last epoch and end of every log there is."""
        self._services = services
        self._clean_epoch = clean_epoch
        self._log_ends = log_ends
        self._interval_s = services.config.heartbeat_interval_ms / 1000
        self._lease_s = services.config.session_timeout_ms / 1000 - self._interval_s
        self._leaving = False
        self._may_stop = asyncio.Event()
        self._now = asyncio.Event()
        self._heard = 0.0
        self.epoch = -1
        self.state = "starting"

    async def run(self) -> None:
        """Until cancelled. Raises `Deposed`.

        A registration that a process sent before it was killed may be carried out after its successor's: the living
        one then registers anew. If that does not settle it, somebody else lives under this id.
        """
        depositions: deque[float] = deque(maxlen=MOST_DEPOSITIONS)
        while True:
            try:
                await self._register()
                await self._keep_up()
            except _Superseded as problem:
                now = self._services.loop.time()
                depositions.append(now)
                if len(depositions) == MOST_DEPOSITIONS and now - depositions[0] < DEPOSITION_WINDOW_S:
                    raise Deposed(f"another broker runs as node {self._services.config.node_id}: {problem}") from None
                self._begin_anew()

    async def _keep_up(self) -> None:
        while True:
            started = self._services.loop.time()
            await self._heartbeat()
            left = self._interval_s - (self._services.loop.time() - started)
            await self._pause(left)

    def _begin_anew(self) -> None:
        """As a new incarnation, which has stopped cleanly from nothing."""
        replicas = self._services.replicas
        replicas.lease_until = 0.0
        self._clean_epoch = None
        replicas.incarnation = randomness.unique_id(self._services.machine.random).hex()
        self._services.machine.journal.warning("superseded", epoch=self.epoch, incarnation=replicas.incarnation)

    async def leave(self) -> None:
        """Asks the controller to move the leaders away, and waits until it has. Not for ever, and not past the session:
        by then there is nothing left to hand over."""
        if self.state == "starting":
            return
        self._leaving = True
        self.state = "stopping"
        self._now.set()
        deadline = self._services.loop.time() + LEAVE_TIMEOUT_S
        while not self._may_stop.is_set():
            now = self._services.loop.time()
            if now > deadline or now - self._heard > self._services.config.session_timeout_ms / 1000:
                self._services.machine.journal.warning("left-alone", why="no controller moved the leaders away in time")
                return
            await asyncio.sleep(0.01)

    async def _register(self) -> None:
        config = self._services.config
        command = RegisterBroker(
            config.node_id,
            self._services.replicas.incarnation,
            config.address.host,
            config.address.port,
            config.rack,
            self._clean_epoch,
            self._log_ends(),
        )
        while True:
            try:
                reply = await self._services.quorum.submit(command, REGISTER_TIMEOUT_S, again_if_lost=True)
            except BrokerError:
                continue
            assert isinstance(reply, Registered)
            if reply.error:
                raise _Superseded(reply.message)
            break
        self.epoch = reply.epoch
        self._heard = self._services.loop.time()
        self.state = "fenced"
        self._services.machine.journal.info("registered", epoch=self.epoch)

    async def _heartbeat(self) -> None:
        services = self._services
        sent = services.loop.time()
        command = Heartbeat(services.config.node_id, self.epoch, services.quorum.image.offset, self._leaving)
        try:
            reply = await services.quorum.submit(command, max(self._interval_s, 0.5), again_if_lost=True)
        except BrokerError:
            return
        assert isinstance(reply, HeartbeatReply)
        self._heard = sent
        if reply.error in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            raise _Superseded(reply.message)
        if reply.may_stop:
            self._may_stop.set()
        if reply.fenced:
            services.replicas.lease_until = 0.0
            self._now.set()
        else:
            services.replicas.lease_until = sent + self._lease_s
        if not self._leaving:
            self._tell("fenced" if reply.fenced else "running")

    def _tell(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self._services.machine.journal.info(state)

    async def _pause(self, seconds: float) -> None:
        """To the next heartbeat; shorter while there is something to hurry for."""
        hurry = self._now.is_set()
        self._now.clear()
        if hurry:
            seconds = min(seconds, 0.02)
        if seconds > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._now.wait()
            except TimeoutError:
                return
