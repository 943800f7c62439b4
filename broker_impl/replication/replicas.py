"""All partitions this broker holds, kept in line with the metadata log.

Each new image is compared with what is here: logs are made and dropped, leaders take up their epoch, followers turn
to their leader. Nothing of an image counts before it holds this incarnation's registration: until then the log may
still speak of leaderships that belonged to the process that died.

Waking is deferred to the end of the loop's turn: ten appends of one turn wake a waiting fetch once, with all ten.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping

from broker_impl.delayed.purgatory import Purgatory
from broker_impl.machine import Machine
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum import topic_configs
from broker_impl.quorum.image import Image, PartitionImage, TopicImage, changed_configs, changed_topics
from broker_impl.replication.fetchers import Fetchers
from broker_impl.replication.flusher import Flusher
from broker_impl.replication.isr_updates import IsrUpdates
from broker_impl.replication.partition import Partition, PartitionSettings, Role
from broker_impl.replication.replica import Replica
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory


class Replicas:
    """Invariant: a replica is here exactly if the newest image assigns it to this broker and its log could be made."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        broker_id: int,
        incarnation: str,
        machine: Machine,
        directory: LogDirectory,
        logs: dict[tuple[str, int], Log],
        defaults: Mapping[str, str],
        lag_s: float,
    ) -> None:
        self._loop = loop
        self.broker_id = broker_id
        self.incarnation = incarnation
        self._machine = machine
        self._directory = directory
        self._unclaimed = logs
        self._defaults = defaults
        self._lag_s = lag_s
        self.image = self._followed = Image.empty()
        self.live_epochs: dict[int, int] = {}
        self.broker_epoch = -1
        self.lease_until = 0.0
        self._topics: dict[str, dict[int, Replica]] = {}
        self._unmade: set[str] = set()
        self._grown: dict[Replica, None] = {}
        self.fetchers: Fetchers
        self.isr_updates: IsrUpdates
        self.flusher: Flusher
        self.fetches: Purgatory
        self.produces: Purgatory
        self.remove_later: Callable[[str, float], None]

    # --- finding

    def find(self, topic: str, index: int) -> Replica:
        """Hot path."""
        try:
            return self._topics[topic][index]
        except KeyError:
            raise self._absent(topic, index) from None

    def find_leader(self, topic: str, index: int) -> Replica:
        """Hot path: a replica this broker leads, and may still lead as far as it can know."""
        replica = self.find(topic, index)
        if self._loop.time() > self.lease_until and replica.state.role is Role.LEADER:
            raise BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this broker has lost touch with the controller")
        return replica

    def __iter__(self) -> Iterator[Replica]:
        for partitions in self._topics.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self._topics.values())

    def _absent(self, topic: str, index: int) -> BrokerError:
        if self.broker_epoch < 0:
            return BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this broker does not know yet which partitions there are")
        known = self.image.topics.get(topic)
        if known is None or index not in known.partitions:
            return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{index}")
        if topic in self._unmade and self.broker_id in known.partitions[index].replicas:
            return BrokerError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log of {topic}-{index} could not be made")
        return BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.broker_id} has no replica of {topic}-{index}")

    # --- following the metadata

    def apply(self, new: Image) -> None:
        """What changed is counted from the last image that counted: one that names another incarnation is passed over.

        Settings come first: a leader whose ISR shrank while more replicas became needed must not commit by the old number."""
        self.image = new
        me = new.brokers.get(self.broker_id)
        if me is None or me.incarnation != self.incarnation:
            return
        old, self._followed = self._followed, new
        self.live_epochs = {broker.id: broker.epoch for broker in new.brokers.values() if broker.live}
        self.broker_epoch = self.isr_updates.broker_epoch = me.epoch
        self._follow_configs(old, new)
        self._reconcile(changed_topics(old, new))
        self._follow_addresses(old, new)
        self._drop_strays()

    def retry_unmade(self) -> None:
        if self._unmade:
            self._reconcile(set(self._unmade))

    def _reconcile(self, names: set[str]) -> None:
        leaders: dict[Replica, int] = {}
        for name in names:
            self._unmade.discard(name)
            topic = self.image.topics.get(name)
            for index, replica in list(self._topics.get(name, {}).items()):
                if topic is None or topic.id != replica.log.topic_id or not self._holds(topic, index):
                    self._drop(replica)
            if topic is not None:
                self._reconcile_topic(topic, leaders)
        if leaders:
            self.fetchers.follow(leaders)

    def _reconcile_topic(self, topic: TopicImage, leaders: dict[Replica, int]) -> None:
        settings: topic_configs.TopicSettings | None = None
        for index, partition in topic.partitions.items():
            if self.broker_id in partition.replicas:
                try:
                    replica = self._topics.get(topic.name, {}).get(index)
                    if replica is None:
                        settings = settings or topic_configs.effective(self.image, topic.name, self._defaults, self.broker_id)
                        replica = self._host(topic, index, settings)
                    self._follow(replica, partition, leaders)
                except OSError as problem:
                    self._unmade.add(topic.name)
                    self._machine.journal.error("log-unmade", topic=topic.name, part=index, why=str(problem))

    def _holds(self, topic: TopicImage, index: int) -> bool:
        partition = topic.partitions.get(index)
        return partition is not None and self.broker_id in partition.replicas

    def _host(self, topic: TopicImage, index: int, settings: topic_configs.TopicSettings) -> Replica:
        config = log_config(settings)
        log = self._unclaimed.pop((topic.name, index), None)
        if log is not None and log.topic_id != topic.id:
            self._discard(log)
            log = None
        if log is None:
            log = self._directory.create(topic.name, index, topic.id, config)
        log.config = config
        state = Partition(
            topic.name,
            index,
            self.broker_id,
            self._partition_settings(settings),
            log_end=log.end_offset,
            flushed_end=log.flushed_offset,
            high_watermark=max(self._directory.high_watermarks.get((topic.name, index), 0), log.start_offset),
        )
        replica = Replica(log, state)
        self._topics.setdefault(topic.name, {})[index] = replica
        return replica

    def _follow(self, replica: Replica, partition: PartitionImage, leaders: dict[Replica, int]) -> None:
        transition = replica.state.become(partition, replica.log.end_offset, self._loop.time())
        if transition.role is Role.LEADER:
            self._tell_isr(replica, partition)
        replica.known_isr = partition.isr
        if transition.new_epoch:
            if transition.role is Role.LEADER:
                replica.log.assign_epoch(partition.leader_epoch, replica.log.end_offset)
                self._machine.journal.info(
                    "leader-changed", topic=replica.topic, part=replica.index, epoch=partition.leader_epoch, isr=list(partition.isr)
                )
            if replica.flush_counts:
                self.flusher.flush(replica)
            leaders[replica] = partition.leader if transition.role is Role.FOLLOWER else -1
        if transition.new_epoch or transition.hw_moved:
            self._loop.call_soon(self._recheck, replica)

    def _tell_isr(self, replica: Replica, partition: PartitionImage) -> None:
        before, after = set(replica.known_isr), set(partition.isr)
        for event, changed in (("isr-shrunk", before - after), ("isr-grown", after - before if before else set())):
            if changed:
                self._machine.journal.info(
                    event,
                    topic=replica.topic,
                    part=replica.index,
                    epoch=partition.leader_epoch,
                    isr=list(partition.isr),
                    changed=sorted(changed),
                )

    def _partition_settings(self, settings: topic_configs.TopicSettings) -> PartitionSettings:
        return PartitionSettings(settings.min_insync_replicas, self._lag_s, settings.flush_messages == 1)

    def _follow_configs(self, old: Image, new: Image) -> None:
        """Of topics that are still there: one that is deleted goes by the settings it had."""
        for kind, name in changed_configs(old, new):
            for topic in new.topics.keys() & ({name} if kind == "topic" else self._topics.keys()):
                settings = topic_configs.effective(new, topic, self._defaults, self.broker_id)
                for replica in self._topics.get(topic, {}).values():
                    replica.log.config = log_config(settings)
                    if replica.awaits_flush:
                        self.flusher.flush(replica)
                    if replica.state.configure(self._partition_settings(settings), self._loop.time()):
                        self.watermark_moved(replica)

    def _follow_addresses(self, old: Image, new: Image) -> None:
        if old.brokers is new.brokers:
            return
        for broker in new.brokers.values():
            before = old.brokers.get(broker.id)
            if before is not None and (before.host, before.port) != (broker.host, broker.port):
                self.fetchers.readdress(broker.id)

    def _drop(self, replica: Replica) -> None:
        self.fetchers.forget(replica)
        partitions = self._topics[replica.topic]
        del partitions[replica.index]
        if not partitions:
            del self._topics[replica.topic]
        self._grown.pop(replica, None)
        self._discard(replica.log)
        replica.state.retire()
        self._loop.call_soon(self._recheck, replica)

    def _drop_strays(self) -> None:
        """Logs of topics that were deleted while this broker was away."""
        for log in list(self._unclaimed.values()):
            self._discard(log)
        self._unclaimed.clear()

    def _discard(self, log: Log) -> None:
        self._machine.journal.info("log-deleted", topic=log.topic, part=log.partition)
        try:
            self.remove_later(self._directory.delete(log.topic, log.partition), log.config.file_delete_delay_ms / 1000)
        except OSError as problem:
            self._machine.journal.error("log-undeleted", topic=log.topic, part=log.partition, why=str(problem))

    # --- waking who waits

    def appended(self, replica: Replica) -> None:
        """The leader's log grew: followers that wait for it get it at the end of this turn. Who asks later finds it."""
        if not self.fetches.watches(replica.log):
            return
        if not self._grown:
            self._loop.call_soon(self._wake_followers)
        self._grown[replica] = None

    def watermark_moved(self, replica: Replica) -> None:
        self.produces.check(replica)
        self.fetches.check(replica)

    def replicated(self, replica: Replica) -> None:
        """A follower's log grew."""
        self.flusher.appended(replica)

    def flushed(self, replica: Replica) -> None:
        moved = replica.state.flushed(replica.log.flushed_offset, self._loop.time())
        if moved:
            self.watermark_moved(replica)
        else:
            self.produces.check(replica)
        if replica.state.role is not Role.LEADER:
            self.fetchers.kick(replica)

    def _wake_followers(self) -> None:
        grown, self._grown = self._grown, {}
        for replica in grown:
            self.fetches.check(replica.log)

    def _recheck(self, replica: Replica) -> None:
        self.produces.check(replica)
        self.fetches.check(replica)
        self.fetches.check(replica.log)


def log_config(settings: topic_configs.TopicSettings) -> LogConfig:
    return LogConfig(
        segment_bytes=settings.segment_bytes,
        segment_ms=settings.segment_ms,
        index_bytes=settings.index_bytes,
        index_interval_bytes=settings.index_interval_bytes,
        retention_ms=settings.retention_ms,
        retention_bytes=settings.retention_bytes,
        max_message_bytes=settings.max_message_bytes,
        flush_messages=settings.flush_messages,
        flush_ms=settings.flush_ms,
        timestamp_type=settings.timestamp_type,
        timestamp_before_max_ms=settings.timestamp_before_max_ms,
        timestamp_after_max_ms=settings.timestamp_after_max_ms,
        file_delete_delay_ms=settings.file_delete_delay_ms,
        cleanup_policy=settings.cleanup_policy,
    )
