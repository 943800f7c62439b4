"""A broker put together: what it is made of, the order in which it starts, and the order in which it ends.

Start: the directory is locked and its logs recovered before anything listens; then the port, the quorum, the
registration; the first image with that registration brings the partitions to life. A clean end is the same backwards:
leaders move away, the logs and checkpoints are flushed, and only then the clean-shutdown marker is written.
"""

import asyncio
from collections.abc import Coroutine
from functools import cache
from typing import Any

import msgspec

from broker_impl.api.dispatch import Dispatcher
from broker_impl.api.peers import PeerApi
from broker_impl.api.services import Services
from broker_impl.config import Address, Config
from broker_impl.delayed.purgatory import Purgatory
from broker_impl.delayed.timer import LoopTimer
from broker_impl.machine import Machine, clock, randomness
from broker_impl.metrics import render
from broker_impl.network.http import HttpServer
from broker_impl.network.peers import Peers
from broker_impl.network.server import Limits, Server
from broker_impl.quorum import topic_configs
from broker_impl.quorum.controller import ControllerSettings
from broker_impl.quorum.image import Image
from broker_impl.quorum.node import QuorumNode
from broker_impl.quorum.raft import RaftSettings
from broker_impl.quorum.topics import TopicRules
from broker_impl.replication.fetchers import Fetcher, Fetchers, FetchSettings
from broker_impl.replication.flusher import Flusher
from broker_impl.replication.isr_updates import IsrUpdates
from broker_impl.replication.replica import Replica
from broker_impl.replication.replicas import Replicas, log_config
from broker_impl.replication.upkeep import Upkeep
from broker_impl.session import Deposed, Session
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory

METADATA_DIRECTORY = "quorum"


class Broker:
    def __init__(self, loop: asyncio.AbstractEventLoop, config: Config, machine: Machine) -> None:
        """Locks the directory and recovers the logs: blocking, before anything listens."""
        self._loop = loop
        self.config = config
        self._machine = machine
        self._tasks: set[asyncio.Task[None]] = set()
        self._directory = LogDirectory(machine.disk, config.log_dir, machine.random)
        self._directory.open()
        self.peers = Peers(loop, config.cluster_id, config.node_id, config.address, dict(config.voters))
        self.quorum = self._make_quorum()
        self.replicas = self._make_replicas()
        self.services = Services(loop, config, machine, self.quorum, self.replicas)
        self.session = Session(self.services, self._directory.clean_epoch, self._directory.log_ends)
        self.upkeep = Upkeep(loop, config, machine, self._directory, self.replicas)
        self.replicas.remove_later = self.upkeep.remove_later
        self.dispatcher = Dispatcher(self.services, PeerApi(self.services, self.peers))
        limits = Limits(
            config.connections, config.request_bytes, config.queued_bytes, config.connection_queued_requests, config.idle_ms / 1000
        )
        self.server = Server(loop, limits, self.dispatcher.serve, machine.journal)
        self._http = HttpServer({"/health": self._health, "/metrics": lambda: ("text/plain; version=0.0.4", render(self))})
        self.quorum.listen(self._image_changed)

    async def start(self) -> None:
        config = self.config
        await self.server.listen(config.listener.host, config.listener.port)
        if config.http is not None:
            await self._http.listen(self._loop, config.http.host, config.http.port)
        self._machine.journal.info(
            "listening", address=str(config.listener), roles=list(config.roles), incarnation=self.replicas.incarnation
        )
        self.quorum.start()
        for path in self._directory.leftovers():
            self.upkeep.remove_later(path, 0.0)
        if config.is_broker:
            self.upkeep.start()

    async def run(self, stop: asyncio.Event) -> None:
        """Serves until told to stop. Raises what makes going on impossible."""
        watched: list[asyncio.Future[Any]] = [asyncio.ensure_future(stop.wait()), self.quorum.failure]
        if self.config.is_broker:
            watched.append(self._loop.create_task(self.session.run()))
        done, _pending = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        if self.config.is_broker and stop.is_set():
            await self.session.leave()
        watched[0].cancel()
        if self.config.is_broker:
            watched[-1].cancel()
        for future in done:
            future.result()

    async def stop(self) -> None:
        """In good order: what is acknowledged is on the disk, and the marker says so."""
        await self.quorum.hand_over()
        await self.server.close()
        self._http.close()
        self.dispatcher.close()
        self.replicas.fetchers.close()
        self.replicas.isr_updates.close()
        await self.upkeep.close()
        await self.quorum.close()
        self.peers.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        threads = self._machine.threads
        closed = await asyncio.gather(*(threads.run(self._close_log, log) for log in self._directory.logs()))
        await threads.run(self._mark, all(closed))
        threads.close()

    def _close_log(self, log: Log) -> bool:
        """Whether everything it holds is on the disk. Blocking, a few syncs a log: the logs are closed side by side."""
        try:
            log.close()
        except OSError as problem:
            self._machine.journal.error("log-offline", topic=log.topic, part=log.partition, why=str(problem))
            return False
        return True

    def _mark(self, sound: bool) -> None:
        self.upkeep.checkpoint()
        if sound and self.session.epoch >= 0:
            self._directory.mark_clean(self.session.epoch)
        self._directory.close()
        self._machine.journal.info("stopped", clean=sound)

    # --- making the parts

    def _make_quorum(self) -> QuorumNode:
        config = self.config
        timeout_s = config.election_timeout_ms / 1000
        rules = TopicRules(config.partitions, config.replication_factor)
        return QuorumNode(
            self._loop,
            config.node_id,
            tuple(node for node, _address in config.voters),
            f"{config.log_dir}/{METADATA_DIRECTORY}",
            self._machine,
            self.peers,
            RaftSettings(election_timeout_s=timeout_s, heartbeat_s=min(0.1, timeout_s / 5)),
            ControllerSettings(config.session_timeout_ms / 1000, rules, config.topic_defaults),
            config.snapshot_bytes,
        )

    def _make_replicas(self) -> Replicas:
        config, loop, machine = self.config, self._loop, self._machine
        image = self.quorum.image

        @cache
        def settings(topic: str) -> LogConfig:
            return log_config(topic_configs.effective(image, topic, config.topic_defaults, config.node_id))

        incarnation = randomness.unique_id(machine.random).hex()
        logs = self._directory.load(settings, machine.wall_ms())
        for event in self._directory.events:
            machine.journal.warning(str(event.pop("event")), **event)
        replicas = Replicas(
            loop, config.node_id, incarnation, machine, self._directory, logs, config.topic_defaults, config.replica_lag_ms / 1000
        )
        timer = LoopTimer(loop)
        replicas.fetches = Purgatory(timer)
        replicas.produces = Purgatory(timer)
        replicas.flusher = Flusher(machine, self._spawn, replicas.flushed)
        replicas.isr_updates = IsrUpdates(loop, self.quorum, config.node_id)
        replicas.isr_updates.on_watermark = replicas.watermark_moved
        replicas.fetchers = Fetchers(self._make_fetcher)
        return replicas

    def _make_fetcher(self, leader: int) -> Fetcher | None:
        config = self.config
        link = self.peers.new_link(leader, config.replica_response_bytes + config.request_bytes)
        if link is None:
            return None
        settings = FetchSettings(config.node_id, config.replica_fetch_wait_ms, config.replica_fetch_bytes, config.replica_response_bytes)
        return Fetcher(self._loop, leader, link, settings, self, self._machine.journal)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what fetchers need

    @property
    def broker_epoch(self) -> int:
        return self.replicas.broker_epoch

    def replicated(self, replica: Replica) -> None:
        self.replicas.replicated(replica)

    def suspect(self, leader: int, replica: Replica, offset: int) -> None:
        self.peers.suspect(leader, replica.log.topic_id, replica.index, offset)

    # --- following the metadata

    def _image_changed(self, old: Image, new: Image) -> None:
        if old.brokers is not new.brokers:
            for broker in new.brokers.values():
                if broker.id != self.config.node_id:
                    self.peers.learn(broker.id, Address(broker.host, broker.port))
        self.replicas.apply(new)
        if self.replicas.broker_epoch >= 0 or not self.config.is_broker:
            self.services.caught_up.set()

    def _health(self) -> tuple[str, bytes]:
        state = self.session.state if self.config.is_broker else "running"
        page = {
            "node": self.config.node_id,
            "state": state,
            "wall_ms": self._machine.wall_ms(),
            "mono_ns": clock.monotonic_ns(),
            "controller": self.quorum.controller_id,
            "metadata_offset": self.quorum.image.offset,
        }
        return "application/json", msgspec.json.encode(page)


__all__ = ["Broker", "Deposed"]
