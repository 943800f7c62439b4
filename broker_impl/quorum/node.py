"""The quorum on this node: the loop around the pure Raft and, while this node leads, around the pure controller.

Raft says what to persist, what to send after that, and what is committed; this module does it, in that order, with
the fsync on a thread. Committed entries are replayed into the image, and whoever listens gets the old one and the
new. A command to the controller becomes records, the records an entry, and the answer waits for its commit: an
answer that rests on records not yet committed waits for those too. One that lets a broker go on leading waits until
a majority has followed this controller since it was asked (`sessions` has the reason).
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Mapping

from broker_impl.machine import Machine
from broker_impl.network.peers import NOT_CONTROLLER, Peers, ReplyEnvelope
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import AlterIsr, AlterIsrReply, Command, HeartbeatReply, Reply
from broker_impl.quorum.controller import Controller, ControllerSettings
from broker_impl.quorum.image import Image
from broker_impl.quorum.raft import Entry, Progress, Raft, RaftMessage, RaftSettings, Ready
from broker_impl.quorum.raft_log import DiskFull, RaftLog
from broker_impl.quorum.records import BrokerFenced, Record, decode_records, encode_records

RETRY_S = 0.05
ANSWER_S = 2.0
CONTROLLER_TICK_S = 0.1
DISK_FULL_RETRY_S = 0.5
HAND_OVER_S = 0.5

_Waiter = tuple[int, int, asyncio.Future[bool]]

OnImage = Callable[[Image, Image], None]


class QuorumNode:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        node_id: int,
        voters: tuple[int, ...],
        directory: str,
        machine: Machine,
        peers: Peers,
        raft_settings: RaftSettings,
        controller_settings: ControllerSettings,
        snapshot_bytes: int,
    ) -> None:
        self._loop = loop
        self._id = node_id
        self._machine = machine
        self._peers = peers
        self._controller_settings = controller_settings
        self._snapshot_bytes = snapshot_bytes
        self._log = RaftLog(machine.disk, directory)
        hard_state, snapshot, entries = self._log.load()
        self.image = Image.decode(snapshot.data) if snapshot is not None else Image.empty()
        self.raft = Raft(node_id, voters, hard_state, snapshot, entries, raft_settings, machine.random, self._now())
        self._controller: Controller | None = None
        self._controller_term = -1
        self._seen_leader: tuple[int, int | None] = (-1, None)
        self._listeners: list[OnImage] = []
        self._waiting: list[_Waiter] = []
        self._looking: list[_Waiter] = []
        self._doubted: deque[tuple[float, asyncio.Future[bool]]] = deque()
        self._ticket = itertools.count()
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._bytes_since_snapshot = 0
        self.failure: asyncio.Future[None] = loop.create_future()

    def start(self) -> None:
        self._peers.connect(self.raft.voters)
        self._tasks = [self._loop.create_task(self._run()), self._loop.create_task(self._tick_controller())]

    async def hand_over(self) -> None:
        """A controller that is about to stop has another one elected first. Not for ever: alone it just stops."""
        if self.raft.hand_over() is None:
            return
        self._wake.set()
        deadline = self._loop.time() + HAND_OVER_S
        while self.raft.leader_id in (None, self._id) and self._loop.time() < deadline:
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        self._fail_waiting()
        self._log.close()

    def listen(self, listener: OnImage) -> None:
        self._listeners.append(listener)

    def receive(self, message: RaftMessage) -> None:
        self.raft.receive(message, self._now())
        self._wake.set()

    @property
    def controller_id(self) -> int:
        return -1 if self.raft.leader_id is None else self.raft.leader_id

    def progress(self) -> Mapping[int, Progress]:
        return self.raft.progress()

    async def submit(self, command: Command, timeout_s: float, *, again_if_lost: bool, see_it: bool = False) -> Reply:
        """Has the controller carry it out, wherever it is.

        A command whose fate is unknown is given again only if the caller says so. `see_it` waits until this node's own
        image has the outcome too.
        """
        deadline = self._loop.time() + timeout_s
        while (left := deadline - self._loop.time()) > 0:
            envelope = await self._try(command, left)
            if envelope is None and not again_if_lost:
                raise BrokerError(ErrorCode.REQUEST_TIMED_OUT, "the controller did not answer: this may or may not have been carried out")
            if envelope is not None and envelope.reply is not None:
                if see_it:
                    await self._applied(envelope.offset, deadline)
                return envelope.reply
            await asyncio.sleep(RETRY_S)
        raise BrokerError(ErrorCode.REQUEST_TIMED_OUT, "no controller answered in time")

    async def serve(self, command: Command) -> ReplyEnvelope | None:
        """Carries out a command if this node is the controller. None: it stopped being it before the commit."""
        controller = self._controller
        if controller is None or not self.raft.serving:
            return NOT_CONTROLLER
        asked = self._now()
        decision = controller.handle(command, asked, self.raft.last_index + 1)
        self._propose(decision.records)
        self._tell_refusals(command, decision.reply)
        offset = controller.tail.offset
        if not await self._committed(offset):
            return None
        if _grants_lease(decision.reply) and not decision.records and not await self._followed(asked, controller):
            return None
        return ReplyEnvelope(decision.reply, offset)

    async def _try(self, command: Command, timeout_s: float) -> ReplyEnvelope | None:
        leader = self.raft.leader_id
        if leader is None:
            return NOT_CONTROLLER
        if leader != self._id:
            return await self._peers.ask(leader, command, min(timeout_s, ANSWER_S))
        try:
            async with asyncio.timeout(timeout_s):
                return await self.serve(command)
        except TimeoutError:
            return None

    async def _applied(self, offset: int, deadline: float) -> None:
        """Waits until this node's image has the entry; where it takes too long, the caller answers with what there is."""
        if self.image.offset >= offset:
            return
        seen: asyncio.Future[bool] = self._loop.create_future()
        heapq.heappush(self._looking, (offset, next(self._ticket), seen))
        try:
            async with asyncio.timeout_at(deadline):
                await seen
        except TimeoutError:
            return

    # --- the loop around Raft

    async def _run(self) -> None:
        try:
            while True:
                ready = self.raft.take()
                self._arm()
                if ready is None:
                    self._follow_leadership()
                    self._settle_waiting()
                    await self._wake.wait()
                    self._wake.clear()
                    continue
                await self._carry_out(ready)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            self._machine.journal.error("quorum-failed", why=repr(problem))
            if not self.failure.done():
                self.failure.set_exception(problem)

    async def _carry_out(self, ready: Ready) -> None:
        if ready.must_sync:
            await self._persist(ready)
        for message in ready.messages:
            self._peers.post(message.to, message)
        if ready.snapshot is not None:
            self._publish(Image.decode(ready.snapshot.data))
        for entry in ready.committed:
            self._apply(entry)
        self.raft.done(ready, self._now())
        self._follow_leadership()
        self._settle_waiting()
        self._maybe_compact()

    async def _persist(self, ready: Ready) -> None:
        """While the disk is full this node promises nothing, so the others go on without it; it still hears who leads."""
        told = False
        while True:
            try:
                await self._machine.threads.run(self._log.persist, ready)
                return
            except DiskFull as problem:
                if not told:
                    told = True
                    self._machine.journal.error("quorum-disk-full", why=str(problem))
                await asyncio.sleep(DISK_FULL_RETRY_S)

    def _apply(self, entry: Entry) -> None:
        records = decode_records(entry.payload) if entry.payload else []
        self._bytes_since_snapshot += len(entry.payload)
        self._publish(self.image.apply(entry.index, records))

    def _publish(self, image: Image) -> None:
        old, self.image = self.image, image
        for listener in self._listeners:
            listener(old, image)

    def _maybe_compact(self) -> None:
        if self._bytes_since_snapshot >= self._snapshot_bytes:
            self._bytes_since_snapshot = 0
            self.raft.compact(self.image.offset, self.image.encode())
            self._wake.set()

    def _arm(self) -> None:
        at = self.raft.next_deadline()
        if self._timer is not None and not self._timer.cancelled() and self._timer_at == at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.raft.tick(self._now())
        self._wake.set()

    # --- the controller

    def _follow_leadership(self) -> None:
        seen = (self.raft.term, self.raft.leader_id)
        if seen != self._seen_leader:
            self._seen_leader = seen
            if self.raft.leader_id is not None:
                self._machine.journal.info("controller-changed", controller=self.raft.leader_id, epoch=self.raft.term)
        if not self.raft.serving:
            if self._controller is not None:
                self._controller = None
                self._fail_waiting()
        elif self._controller is None or self._controller_term != self.raft.term:
            self._fail_waiting()
            self._controller_term = self.raft.term
            settings, random = self._controller_settings, self._machine.random
            self._controller = Controller(self.image, settings, random, self._now(), self.raft.silence_s)

    def _propose(self, records: list[Record]) -> None:
        if records:
            index = self.raft.propose(encode_records(records), self._now())
            assert self._controller is not None and index == self._controller.tail.offset, "the controller numbered an entry wrongly"
            self._wake.set()

    def _tell_refusals(self, command: Command, reply: Reply) -> None:
        """An ISR that was wished for on a state that is no more: without the refusal it would have come true."""
        if isinstance(command, AlterIsr) and isinstance(reply, AlterIsrReply) and not reply.error:
            for change, result in zip(command.changes, reply.results, strict=True):
                topic = self.image.topic(change.topic_id)
                if result.error and topic is not None:
                    self._machine.journal.info(
                        "isr-change-refused",
                        topic=topic.name,
                        part=change.index,
                        epoch=change.leader_epoch,
                        broker=command.id,
                        isr=[member for member, _ in change.new_isr],
                        why=result.message,
                    )

    async def _tick_controller(self) -> None:
        while True:
            await asyncio.sleep(CONTROLLER_TICK_S)
            if self._controller is not None and self.raft.serving:
                records = self._controller.tick(self._now(), self.raft.last_index + 1)
                for record in records:
                    if isinstance(record, BrokerFenced):
                        self._machine.journal.info("session-lapsed", broker=record.id, epoch=record.epoch)
                self._propose(records)

    async def _committed(self, offset: int) -> bool:
        """Whether the entry was committed while this node stayed the controller."""
        if self.image.offset >= offset:
            return True
        done: asyncio.Future[bool] = self._loop.create_future()
        heapq.heappush(self._waiting, (offset, next(self._ticket), done))
        return await done

    async def _followed(self, asked: float, controller: Controller) -> bool:
        """Whether a majority followed this controller after it was asked, and in the same term."""
        if self._controller is controller and self.raft.followed_at < asked:
            done: asyncio.Future[bool] = self._loop.create_future()
            self._doubted.append((asked, done))
            await done
        return self._controller is controller and self.raft.followed_at >= asked

    def _settle_waiting(self) -> None:
        while self._doubted and self._doubted[0][0] <= self.raft.followed_at:
            self._resolve(self._doubted.popleft()[1], True)
        for waiters in (self._waiting, self._looking):
            while waiters and waiters[0][0] <= self.image.offset:
                self._resolve(heapq.heappop(waiters)[2], True)

    def _fail_waiting(self) -> None:
        waiting = [*(waiter[-1] for waiter in self._waiting), *(done for _asked, done in self._doubted)]
        self._waiting = []
        self._doubted.clear()
        for done in waiting:
            self._resolve(done, False)

    def _resolve(self, done: "asyncio.Future[bool]", outcome: bool) -> None:
        if not done.done():
            done.set_result(outcome)

    def _now(self) -> float:
        """What is heard must not be dated before it came (`machine.clock`)."""
        return max(self._loop.time(), self._machine.monotonic())


def _grants_lease(reply: Reply) -> bool:
    return isinstance(reply, HeartbeatReply) and not reply.error and not reply.fenced
