"""Partitions follow the metadata: from which image on, and what becomes of logs nobody wants any more."""

import asyncio
import io
import random
from collections.abc import Callable

import pytest

from broker_impl.delayed.purgatory import Purgatory
from broker_impl.delayed.timer import LoopTimer
from broker_impl.machine import Machine, clock
from broker_impl.machine.journal import Journal
from broker_impl.machine.threads import Inline
from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.image import Image
from broker_impl.quorum.records import (
    BrokerRegistered,
    BrokerUnfenced,
    ConfigChanged,
    PartitionChanged,
    PartitionCreated,
    Record,
    TopicCreated,
    TopicDeleted,
)
from broker_impl.replication.partition import Role
from broker_impl.replication.replica import Replica
from broker_impl.replication.replicas import Replicas
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.log_directory import LogDirectory
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.replication.replica_making import ME, batch

OTHER = 2
FIRST_ID = b"1" * 16
SECOND_ID = b"2" * 16


class Followed:
    """Stands for the fetchers: remembers whom each replica follows."""

    def __init__(self) -> None:
        self.leaders: dict[str, int] = {}

    def follow(self, leaders: dict[Replica, int]) -> None:
        self.leaders |= {str(replica): leader for replica, leader in leaders.items()}

    def forget(self, replica: Replica) -> None:
        self.leaders.pop(str(replica), None)

    def readdress(self, leader: int) -> None:
        return None

    def kick(self, replica: Replica) -> None:
        return None


class Wishes:
    broker_epoch = -1


class Flushes:
    def flush(self, replica: Replica) -> None:
        return None


class Scene:
    def __init__(self, disk: ForgetfulDisk | None = None, incarnation: str = "this") -> None:
        self.disk = disk or ForgetfulDisk()
        self.directory = LogDirectory(self.disk, "/data", random.Random(1))
        self.directory.open()
        logs: dict[tuple[str, int], Log] = self.directory.load(lambda _topic: LogConfig(), 0)
        loop = asyncio.get_running_loop()
        machine = Machine(self.disk, clock.wall_ms, random.Random(1), Inline(), Journal(ME, io.StringIO()))
        self.replicas = Replicas(loop, ME, incarnation, machine, self.directory, logs, {}, 10.0)
        timer = LoopTimer(loop)
        self.followed = Followed()
        self.removed: list[str] = []
        self.delays: list[float] = []
        self.replicas.fetches, self.replicas.produces = Purgatory(timer), Purgatory(timer)
        self.replicas.fetchers = self.followed  # type: ignore[assignment]
        self.replicas.isr_updates = Wishes()  # type: ignore[assignment]
        self.replicas.flusher = Flushes()  # type: ignore[assignment]
        self.replicas.remove_later = self._remove_later
        self.replicas.lease_until = float("inf")
        self.image = Image.empty()

    def _remove_later(self, path: str, delay_s: float) -> None:
        self.removed.append(path)
        self.delays.append(delay_s)

    def apply(self, *records: Record) -> None:
        self.image = self.image.apply(self.image.offset + 1, records)
        self.replicas.apply(self.image)

    def register(self, incarnation: str = "this", broker: int = ME) -> None:
        epoch = self.image.offset + 1
        self.apply(BrokerRegistered(broker, epoch, incarnation, "127.0.0.1", 9000 + broker, None), BrokerUnfenced(broker, epoch))

    def create(self, topic_id: bytes = FIRST_ID, leader: int = ME) -> None:
        self.apply(TopicCreated("t", topic_id), PartitionCreated(topic_id, 0, (ME, OTHER), (ME, OTHER), leader, 0, 0))

    def change(self, leader: int, leader_epoch: int, topic_id: bytes = FIRST_ID) -> None:
        self.apply(PartitionChanged(topic_id, 0, (ME, OTHER), leader, leader_epoch, leader_epoch))


def scene(test: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            test()

        asyncio.run(main())

    run.__name__ = test.__name__
    return run


@scene
def test_images_from_before_this_incarnations_registration_make_nobody_a_leader() -> None:
    before = Scene()
    before.register("the one that died")
    before.register("other", OTHER)
    before.create()
    assert len(before.replicas) == 0
    before.register("this")
    assert len(before.replicas) == 1


@scene
def test_a_leader_takes_up_its_epoch_at_the_end_of_its_log() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    replica = now.replicas.find("t", 0)
    assert replica.state.role is Role.LEADER
    replica.append(batch(b"v"), 1, clock.wall_ms(), 0.0)
    now.change(OTHER, 1)
    assert (replica.state.role, now.followed.leaders) == (Role.FOLLOWER, {"t-0": OTHER})
    now.change(ME, 2)
    assert now.followed.leaders == {"t-0": -1}
    assert (replica.log.latest_epoch(), replica.log.epoch_start(2)) == (2, 1)


@scene
def test_a_deleted_topics_log_goes_and_a_new_one_of_the_same_name_begins_empty() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    now.replicas.find("t", 0).append(batch(b"v"), 1, clock.wall_ms(), 0.0)
    now.image = now.image.apply(now.image.offset + 1, [TopicDeleted(FIRST_ID)])
    created: list[Record] = [TopicCreated("t", SECOND_ID), PartitionCreated(SECOND_ID, 0, (ME, OTHER), (ME, OTHER), ME, 0, 0)]
    now.image = now.image.apply(now.image.offset + 1, created)
    now.replicas.apply(now.image)
    assert now.replicas.find("t", 0).log.end_offset == 0
    assert now.replicas.find("t", 0).log.topic_id == SECOND_ID
    assert len(now.removed) == 1


@scene
def test_a_deleted_topic_is_removed_by_its_own_settings_which_go_with_it() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    now.apply(ConfigChanged("topic", "t", "file.delete.delay.ms", "250"))
    now.apply(TopicDeleted(FIRST_ID))
    assert now.delays == [0.25]


@scene
def test_logs_of_topics_deleted_while_the_broker_was_away_are_dropped_when_it_is_back() -> None:
    first = Scene()
    first.register("other", OTHER)
    first.register()
    first.create()
    first.disk.kill()
    back = Scene(first.disk, "next")
    back.register("other", OTHER)
    back.register("next")
    assert len(back.removed) == 1
    with pytest.raises(BrokerError) as caught:
        back.replicas.find("t", 0)
    assert caught.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@scene
def test_a_log_that_could_not_be_made_is_a_storage_error_and_is_tried_again() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.disk.room = 0
    now.create()
    with pytest.raises(BrokerError) as caught:
        now.replicas.find("t", 0)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    now.disk.room = None
    now.replicas.retry_unmade()
    assert now.replicas.find("t", 0).state.role is Role.LEADER


@scene
def test_a_broker_past_its_lease_refuses_to_lead() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    assert now.replicas.find_leader("t", 0)
    now.replicas.lease_until = 0.0
    with pytest.raises(BrokerError) as caught:
        now.replicas.find_leader("t", 0)
    assert caught.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@scene
def test_changed_settings_reach_the_log_and_the_partition() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    replica = now.replicas.find("t", 0)
    now.apply(ConfigChanged("topic", "t", "min.insync.replicas", "2"), ConfigChanged("topic", "t", "segment.bytes", "1048576"))
    assert replica.log.config.segment_bytes == 1_048_576
    assert replica.state.settings.min_insync == 2
    now.apply(ConfigChanged("topic", "t", "segment.bytes", None))
    assert replica.log.config.segment_bytes == LogConfig().segment_bytes


@scene
def test_what_changed_while_another_incarnation_was_registered_is_caught_up_with() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    replica = now.replicas.find("t", 0)
    now.register("one that registered late")
    now.apply(ConfigChanged("topic", "t", "min.insync.replicas", "2"))
    now.change(OTHER, 1)
    assert (replica.state.role, replica.state.settings.min_insync) == (Role.LEADER, 1)
    now.register()
    assert (replica.state.role, replica.state.settings.min_insync) == (Role.FOLLOWER, 2)


@scene
def test_a_smaller_isr_and_more_replicas_needed_come_as_one_and_nothing_is_committed_in_between() -> None:
    now = Scene()
    now.register("other", OTHER)
    now.register()
    now.create()
    replica = now.replicas.find("t", 0)
    replica.append(batch(b"v"), 1, clock.wall_ms(), 0.0)
    now.apply(ConfigChanged("topic", "t", "min.insync.replicas", "2"), PartitionChanged(FIRST_ID, 0, (ME,), ME, 0, 1))
    assert (replica.state.isr, replica.state.high_watermark) == ((ME,), 0)
