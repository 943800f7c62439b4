"""A broker's standing with the controller, on a controller made of a list."""

import asyncio
import io
import random
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from broker_impl.api.services import Services
from broker_impl.config import load_config
from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import Inline
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import Command, Heartbeat, HeartbeatReply, RegisterBroker, Registered, Reply
from broker_impl.quorum.image import Image
from broker_impl.session import Deposed, Session
from tests.broker_impl.forgetful_disk import ForgetfulDisk

DEADLINE_S = 60.0


class ScriptedQuorum:
    """Answers with what the test prepared; an exception is raised, the last answer is repeated."""

    def __init__(self, *heartbeats: Reply | Exception) -> None:
        self.image = Image.empty()
        self.commands: list[Command] = []
        self._heartbeats = list(heartbeats)

    async def submit(self, command: Command, timeout_s: float, *, again_if_lost: bool, see_it: bool = False) -> Reply:
        self.commands.append(command)
        await asyncio.sleep(0)
        if isinstance(command, RegisterBroker):
            return Registered(epoch=11)
        answer = self._heartbeats.pop(0) if len(self._heartbeats) > 1 else self._heartbeats[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


LOGS = [(b"0123456789abcdef", 0, 3, 77)]


class Leases:
    """Of the replicas, what a session touches."""

    lease_until = -1.0
    incarnation = "inc"


class Scene:
    def __init__(self, *heartbeats: Reply | Exception) -> None:
        loop = asyncio.get_running_loop()
        settings = {"node.id": 1, "listeners": "127.0.0.1:1", "log.dirs": "/d"}
        config = load_config(settings | {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 10})
        machine = Machine(ForgetfulDisk(), clock.wall_ms, random.Random(1), Inline(), Journal(1, io.StringIO()))
        self.quorum = ScriptedQuorum(*heartbeats)
        self.leases = Leases()
        self.session = Session(Services(loop, config, machine, cast(Any, self.quorum), cast(Any, self.leases)), 5, lambda: LOGS)
        self.now = loop.time

    async def until(self, condition: Callable[[], bool]) -> None:
        task = asyncio.ensure_future(self.session.run())
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not condition() and not task.done():
                    await asyncio.sleep(0.001)
            if task.done():
                task.result()
        finally:
            task.cancel()


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_it_registers_with_its_marker_and_runs_once_the_controller_lets_it() -> None:
    async def scenario() -> None:
        scene = Scene(HeartbeatReply(fenced=True, may_stop=False), HeartbeatReply(fenced=False, may_stop=False))
        await scene.until(lambda: scene.session.state == "running")
        registration = scene.quorum.commands[0]
        assert isinstance(registration, RegisterBroker)
        assert (registration.incarnation, registration.clean_epoch, registration.ends) == ("inc", 5, LOGS)
        assert all(isinstance(command, Heartbeat) and command.epoch == 11 for command in scene.quorum.commands[1:])

    run(scenario)


def test_the_lease_is_counted_from_before_the_heartbeat_and_ends_before_the_session() -> None:
    async def scenario() -> None:
        scene = Scene(HeartbeatReply(fenced=False, may_stop=False))
        before = scene.now()
        await scene.until(lambda: scene.leases.lease_until > 0)
        assert before < scene.leases.lease_until < scene.now() + 3.0

    run(scenario)


def test_unanswered_heartbeats_do_not_prolong_the_lease() -> None:
    async def scenario() -> None:
        lost = BrokerError(ErrorCode.REQUEST_TIMED_OUT)
        scene = Scene(HeartbeatReply(fenced=False, may_stop=False), lost)
        await scene.until(lambda: len(scene.quorum.commands) > 2)
        lease = scene.leases.lease_until
        await scene.until(lambda: len(scene.quorum.commands) > 8)
        assert scene.leases.lease_until == lease

    run(scenario)


def test_a_fenced_broker_has_no_lease() -> None:
    async def scenario() -> None:
        scene = Scene(HeartbeatReply(fenced=False, may_stop=False), HeartbeatReply(fenced=True, may_stop=False))
        await scene.until(lambda: scene.session.state == "running")
        await scene.until(lambda: scene.session.state == "fenced")
        assert scene.leases.lease_until == 0.0

    run(scenario)


STALE = HeartbeatReply(fenced=True, may_stop=False, error=ErrorCode.STALE_BROKER_EPOCH, message="epoch 12 is registered")


def test_a_broker_whose_dead_predecessor_registered_late_registers_anew_as_another_unclean_one() -> None:
    async def scenario() -> None:
        scene = Scene(STALE, HeartbeatReply(fenced=False, may_stop=False))
        await scene.until(lambda: scene.session.state == "running")
        first, second = (command for command in scene.quorum.commands if isinstance(command, RegisterBroker))
        assert first.incarnation == "inc" != second.incarnation == scene.leases.incarnation
        assert (first.clean_epoch, second.clean_epoch) == (5, None)

    run(scenario)


def test_a_broker_whose_id_is_taken_over_again_and_again_gives_up() -> None:
    async def scenario() -> None:
        scene = Scene(STALE)
        with pytest.raises(Deposed, match="another broker runs as node 1: epoch 12 is registered"):
            await scene.until(lambda: False)

    run(scenario)


def test_leaving_asks_until_the_controller_lets_it_go() -> None:
    async def scenario() -> None:
        running = HeartbeatReply(fenced=False, may_stop=False)
        scene = Scene(running, running, running, HeartbeatReply(fenced=False, may_stop=True))
        task = asyncio.ensure_future(scene.session.run())
        async with asyncio.timeout(DEADLINE_S):
            while scene.session.state != "running":
                await asyncio.sleep(0.001)
            await scene.session.leave()
        last = scene.quorum.commands[-1]
        assert isinstance(last, Heartbeat) and last.want_shutdown
        task.cancel()

    run(scenario)
