"""The cluster as of one offset of the metadata log: brokers, topics, partitions, configs.

An image never changes. Applying an entry makes a new one that shares everything the entry did not touch, so
an image may be kept and read for as long as anybody likes, and `is` tells what changed between two of them.

The trap is trust: a record that does not fit (an unknown topic, an epoch that runs back) means that this node's
log is not everybody's log. It raises `ImpossibleRecord` rather than guess.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from broker_impl.quorum.records import (
    NO_LEADER,
    BrokerFenced,
    BrokerRegistered,
    BrokerStopping,
    BrokerUnfenced,
    ConfigChanged,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
    TopicDeleted,
)

ConfigResource = tuple[str, str]  # ("topic" | "broker", name)


class ImpossibleRecord(Exception):
    """A record that contradicts the image it is applied to."""


@dataclass(frozen=True, slots=True)
class BrokerImage:
    id: int
    epoch: int
    incarnation: str
    host: str
    port: int
    rack: str | None = None
    fenced: bool = True
    stopping: bool = False

    @property
    def live(self) -> bool:
        """May lead and may join an ISR."""
        return not (self.fenced or self.stopping)


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """Invariant: the ISR is never empty, in assignment order and part of the replicas; the leader is in it or -1.

    `elr`: replicas outside the ISR that have every acknowledged record all the same. `recalled`: those that came back from an unclean
    stop, each with the last epoch and the end of the log it brought (`elections`).
    """

    index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    recalled: tuple[tuple[int, int, int], ...] = ()

    @property
    def leaderless(self) -> bool:
        return self.leader == NO_LEADER

    def contradiction(self) -> str | None:
        if not self.isr:
            return "the ISR is empty"
        if not set(self.isr) <= set(self.replicas):
            return f"ISR {self.isr} is not part of the replicas {self.replicas}"
        if self.leader != NO_LEADER and self.leader not in self.isr:
            return f"leader {self.leader} is not in the ISR {self.isr}"
        if not set(self.elr) <= set(self.replicas) - set(self.isr):
            return f"eligible {self.elr} are not replicas {self.replicas} outside the ISR {self.isr}"
        return None


@dataclass(frozen=True, slots=True)
class TopicImage:
    name: str
    id: bytes
    partitions: Mapping[int, PartitionImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    offset: int = 0
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topic_names: Mapping[bytes, str] = field(default_factory=dict)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0

    @staticmethod
    def empty() -> "Image":
        return Image()

    def apply(self, offset: int, records: Iterable[Record]) -> "Image":
        """The image after the entry at `offset`. Entries come in order, each once."""
        if offset <= self.offset:
            raise ImpossibleRecord(f"entry {offset} applied to an image of offset {self.offset}")
        return replace(self.with_records(records), offset=offset)

    def with_records(self, records: Iterable[Record]) -> "Image":
        """The same offset with more records: what a decision sees that builds on its own first half."""
        draft = _Draft(self)
        for record in records:
            draft.apply(record)
        return draft.image()

    def live_brokers(self) -> frozenset[int]:
        return frozenset(broker.id for broker in self.brokers.values() if broker.live)

    def topic(self, topic_id: bytes) -> TopicImage | None:
        name = self.topic_names.get(topic_id)
        return None if name is None else self.topics[name]

    def config(self, kind: str, name: str) -> Mapping[str, str]:
        return self.configs.get((kind, name), {})

    def all_partitions(self) -> Iterator[tuple[TopicImage, PartitionImage]]:
        for topic in self.topics.values():
            for partition in topic.partitions.values():
                yield topic, partition

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(
            _Snapshot(
                self.offset,
                list(self.brokers.values()),
                [_TopicSnapshot(topic.name, topic.id, list(topic.partitions.values())) for topic in self.topics.values()],
                [(kind, name, dict(values)) for (kind, name), values in self.configs.items()],
                self.next_producer_id,
            )
        )

    @staticmethod
    def decode(data: bytes) -> "Image":
        try:
            stored = msgspec.msgpack.decode(data, type=_Snapshot)
        except msgspec.DecodeError as error:
            raise ImpossibleRecord(f"metadata snapshot of {len(data)} bytes cannot be read: {error}") from error
        return Image(
            stored.offset,
            {broker.id: broker for broker in stored.brokers},
            {topic.name: TopicImage(topic.name, topic.id, {p.index: p for p in topic.partitions}) for topic in stored.topics},
            {topic.id: topic.name for topic in stored.topics},
            {(kind, name): values for kind, name, values in stored.configs},
            stored.next_producer_id,
        )


def changed_topics(old: Image, new: Image) -> set[str]:
    """Names of topics made, deleted, remade or with a changed partition; their configs are not looked at."""
    if old.topics is new.topics:
        return set()
    changed = {name for name, topic in new.topics.items() if old.topics.get(name) is not topic}
    return changed | (old.topics.keys() - new.topics.keys())


def changed_configs(old: Image, new: Image) -> set[ConfigResource]:
    if old.configs is new.configs:
        return set()
    changed = {resource for resource, values in new.configs.items() if old.configs.get(resource) is not values}
    return changed | (old.configs.keys() - new.configs.keys())


class _TopicSnapshot(msgspec.Struct, frozen=True, array_like=True):
    name: str
    id: bytes
    partitions: list[PartitionImage]


class _Snapshot(msgspec.Struct, frozen=True, array_like=True):
    offset: int
    brokers: list[BrokerImage]
    topics: list[_TopicSnapshot]
    configs: list[tuple[str, str, dict[str, str]]]
    next_producer_id: int


class _Draft:
    """An image in the making. Each map is copied at its first change; what is not copied is shared with the base."""

    def __init__(self, base: Image) -> None:
        self._base = base
        self._brokers: dict[int, BrokerImage] | None = None
        self._topics: dict[str, TopicImage] | None = None
        self._names: dict[bytes, str] | None = None
        self._configs: dict[ConfigResource, Mapping[str, str]] | None = None
        self._partitions: dict[bytes, dict[int, PartitionImage]] = {}
        self._next_producer_id = base.next_producer_id

    def image(self) -> Image:
        base = self._base
        return Image(
            base.offset,
            base.brokers if self._brokers is None else self._brokers,
            base.topics if self._topics is None else self._topics,
            base.topic_names if self._names is None else self._names,
            base.configs if self._configs is None else self._configs,
            self._next_producer_id,
        )

    def apply(self, record: Record) -> None:
        match record:
            case PartitionChanged():
                self._change_partition(record)
            case PartitionCreated():
                self._create_partition(record)
            case BrokerRegistered():
                self._register(record)
            case BrokerFenced():
                self._set_broker(record, replace(self._broker(record), fenced=True))
            case BrokerUnfenced():
                self._set_broker(record, replace(self._broker(record), fenced=False))
            case BrokerStopping():
                self._set_broker(record, replace(self._broker(record), stopping=True))
            case TopicCreated():
                self._create_topic(record)
            case TopicDeleted():
                self._delete_topic(record)
            case ConfigChanged():
                self._change_config(record)
            case ProducerIdsAllocated():
                self._require(record.next_id > self._next_producer_id, record, f"ids below {self._next_producer_id} are given out")
                self._next_producer_id = record.next_id

    def _require(self, holds: bool, record: Record, reason: str) -> None:
        if not holds:
            raise ImpossibleRecord(f"{record}: {reason}")

    def _register(self, record: BrokerRegistered) -> None:
        brokers = self._owned_brokers()
        known = brokers.get(record.id)
        self._require(known is None or record.epoch > known.epoch, record, "its epoch is not higher than the last")
        brokers[record.id] = BrokerImage(record.id, record.epoch, record.incarnation, record.host, record.port, record.rack)

    def _broker(self, record: BrokerFenced | BrokerUnfenced | BrokerStopping) -> BrokerImage:
        broker = (self._base.brokers if self._brokers is None else self._brokers).get(record.id)
        if broker is None or broker.epoch != record.epoch:
            raise ImpossibleRecord(f"{record}: the broker registered is {broker}")
        return broker

    def _set_broker(self, record: BrokerFenced | BrokerUnfenced | BrokerStopping, broker: BrokerImage) -> None:
        self._owned_brokers()[record.id] = broker

    def _create_topic(self, record: TopicCreated) -> None:
        topics, names = self._owned_topics(), self._owned_names()
        self._require(record.name not in topics and record.id not in names, record, "it exists")
        self._partitions[record.id] = {}
        topics[record.name] = TopicImage(record.name, record.id, self._partitions[record.id])
        names[record.id] = record.name

    def _delete_topic(self, record: TopicDeleted) -> None:
        name = self._owned_names().pop(record.id, None)
        if name is None:
            raise ImpossibleRecord(f"{record}: no such topic")
        del self._owned_topics()[name]
        self._partitions.pop(record.id, None)
        if ("topic", name) in (self._base.configs if self._configs is None else self._configs):
            del self._owned_configs()["topic", name]

    def _create_partition(self, record: PartitionCreated) -> None:
        partitions = self._owned_partitions(record)
        self._require(record.index == len(partitions), record, f"the next index is {len(partitions)}")
        self._put(
            record,
            partitions,
            PartitionImage(record.index, record.replicas, record.isr, record.leader, record.leader_epoch, record.partition_epoch),
        )

    def _change_partition(self, record: PartitionChanged) -> None:
        partitions = self._owned_partitions(record)
        old = partitions.get(record.index)
        if old is None:
            raise ImpossibleRecord(f"{record}: no such partition")
        self._require(record.partition_epoch == old.partition_epoch + 1, record, f"partition epoch {old.partition_epoch} precedes it")
        self._require(record.leader_epoch >= old.leader_epoch, record, f"leader epoch {old.leader_epoch} precedes it")
        self._put(
            record,
            partitions,
            PartitionImage(
                record.index,
                old.replicas,
                record.isr,
                record.leader,
                record.leader_epoch,
                record.partition_epoch,
                record.elr,
                record.recalled,
            ),
        )

    def _put(self, record: PartitionCreated | PartitionChanged, partitions: dict[int, PartitionImage], partition: PartitionImage) -> None:
        contradiction = partition.contradiction()
        self._require(contradiction is None, record, contradiction or "")
        partitions[partition.index] = partition

    def _change_config(self, record: ConfigChanged) -> None:
        configs = self._owned_configs()
        values = dict(configs.pop((record.kind, record.name), {}))
        values.pop(record.key, None)
        if record.value is not None:
            values[record.key] = record.value
        if values:
            configs[record.kind, record.name] = values

    def _owned_brokers(self) -> dict[int, BrokerImage]:
        if self._brokers is None:
            self._brokers = dict(self._base.brokers)
        return self._brokers

    def _owned_topics(self) -> dict[str, TopicImage]:
        if self._topics is None:
            self._topics = dict(self._base.topics)
        return self._topics

    def _owned_names(self) -> dict[bytes, str]:
        if self._names is None:
            self._names = dict(self._base.topic_names)
        return self._names

    def _owned_configs(self) -> dict[ConfigResource, Mapping[str, str]]:
        if self._configs is None:
            self._configs = dict(self._base.configs)
        return self._configs

    def _owned_partitions(self, record: PartitionCreated | PartitionChanged) -> dict[int, PartitionImage]:
        partitions = self._partitions.get(record.topic_id)
        if partitions is None:
            name = (self._base.topic_names if self._names is None else self._names).get(record.topic_id)
            if name is None:
                raise ImpossibleRecord(f"{record}: no such topic")
            topics = self._owned_topics()
            partitions = dict(topics[name].partitions)
            self._partitions[record.topic_id] = partitions
            topics[name] = replace(topics[name], partitions=partitions)
        return partitions
