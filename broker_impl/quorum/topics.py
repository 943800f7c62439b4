"""Making, growing and deleting topics.

Topics of one request stand alone: one that is refused does not hinder the next. Everything is decided from the
image, so it works while brokers are down: partitions go to those that are live.

The trap is a request for a million partitions, made by a slip of the finger: what one entry of the metadata log may
hold is bounded, and so is what one request may ask for.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import (
    CreatePartitions,
    CreatePartitionsReply,
    CreateTopics,
    CreateTopicsReply,
    DeleteTopics,
    DeleteTopicsReply,
    MorePartitions,
    NewTopic,
    TopicCreation,
    TopicDeletion,
    TopicResult,
)
from broker_impl.quorum.configs import check_topic_configs
from broker_impl.quorum.image import Image
from broker_impl.quorum.placement import Assignment, Load, place
from broker_impl.quorum.records import ConfigChanged, PartitionCreated, Record, TopicCreated, TopicDeleted

LONGEST_NAME = 249
ID_SIZE = 16
IDS_SET_ASIDE = 100


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What a request leaves open, and how much it may ask for."""

    default_partitions: int = 1
    default_replication_factor: int = 1
    most_partitions_a_request: int = 10_000


def create_topics(image: Image, command: CreateTopics, rules: TopicRules, random: Random) -> tuple[list[Record], CreateTopicsReply]:
    creation = _Creation(image, rules, random)
    repeated = {name for name, times in Counter(topic.name for topic in command.topics).items() if times > 1}
    results = []
    for topic in command.topics:
        try:
            if topic.name in repeated:
                raise BrokerError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            results.append(creation.create(topic))
        except BrokerError as refusal:
            results.append(TopicCreation(topic.name, refusal.code, refusal.message))
    if command.validate_only:
        return [], CreateTopicsReply([_without_id(result) for result in results])
    return creation.records, CreateTopicsReply(results)


def create_partitions(
    image: Image, command: CreatePartitions, rules: TopicRules, random: Random
) -> tuple[list[Record], CreatePartitionsReply]:
    creation = _Creation(image, rules, random)
    repeated = {name for name, times in Counter(topic.name for topic in command.topics).items() if times > 1}
    results = []
    for topic in command.topics:
        try:
            if topic.name in repeated:
                raise BrokerError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            creation.grow(topic)
            results.append(TopicResult(topic.name))
        except BrokerError as refusal:
            results.append(TopicResult(topic.name, refusal.code, refusal.message))
    return [] if command.validate_only else creation.records, CreatePartitionsReply(results)


def delete_topics(image: Image, command: DeleteTopics) -> tuple[list[Record], DeleteTopicsReply]:
    records: dict[bytes, Record] = {}
    results = []
    for name in command.names:
        topic = image.topics.get(name)
        if topic is None or topic.id in records:
            results.append(TopicDeletion(name, b"", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."))
            continue
        records[topic.id] = TopicDeleted(topic.id)
        results.append(TopicDeletion(name, topic.id))
    for topic_id in command.ids:
        topic = image.topic(topic_id)
        if topic is None or topic_id in records:
            results.append(TopicDeletion(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id."))
            continue
        records[topic_id] = TopicDeleted(topic_id)
        results.append(TopicDeletion(topic.name, topic_id))
    return list(records.values()), DeleteTopicsReply(results)


def check_name(name: str) -> None:
    """Raises INVALID_TOPIC_EXCEPTION unless it may name a topic, and so a folder."""
    if name in ("", ".", ".."):
        raise BrokerError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: it cannot be '{name}'")
    if len(name) > LONGEST_NAME:
        raise BrokerError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: it is longer than {LONGEST_NAME} characters")
    if not _NAME.fullmatch(name):
        raise BrokerError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: it may hold only ASCII letters, digits, '.', '_' and '-'"
        )


class _Creation:
    """The records of one request as they add up: what is counted includes the topics before in the same request."""

    def __init__(self, image: Image, rules: TopicRules, random: Random) -> None:
        self.records: list[Record] = []
        self._image = image
        self._rules = rules
        self._random = random
        self._live = sorted((broker for broker in image.brokers.values() if broker.live), key=lambda broker: broker.id)
        self._load: Load | None = None
        self._metric_names: set[str] | None = None
        self._added = 0

    def create(self, topic: NewTopic) -> TopicCreation:
        check_name(topic.name)
        if topic.name in self._image.topics:
            raise BrokerError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        self._check_collision(topic.name)
        configs = check_topic_configs(topic.configs)
        assignment = self._assignment(topic)
        topic_id = self._new_id()
        self._names().add(_metric_name(topic.name))
        self.records.append(TopicCreated(topic.name, topic_id))
        self._add_partitions(topic_id, 0, assignment)
        self.records += [ConfigChanged("topic", topic.name, key, value) for key, value in configs.items()]
        return TopicCreation(topic.name, 0, "", topic_id, len(assignment), len(assignment[0]))

    def grow(self, wish: MorePartitions) -> None:
        topic = self._image.topics.get(wish.name)
        if topic is None:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{wish.name}' does not exist.")
        present = len(topic.partitions)
        if wish.count <= present:
            raise BrokerError(
                ErrorCode.INVALID_PARTITIONS, f"Topic has {present} partitions, which can only grow, not become {wish.count}."
            )
        more = wish.count - present
        self._check_room(more)
        factor = len(topic.partitions[0].replicas)
        if wish.assignment is None:
            assignment = place(more, factor, self._live, self._counted(), self._random, topic.partitions.values())
        elif len(wish.assignment) != more:
            raise BrokerError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{more} partitions are added, but {len(wish.assignment)} assignments are given."
            )
        else:
            assignment = [self._checked(replicas, factor) for replicas in wish.assignment]
        self._add_partitions(topic.id, present, assignment)

    def _assignment(self, topic: NewTopic) -> Assignment:
        if topic.assignment:
            return self._manual(topic, topic.assignment)
        count = self._rules.default_partitions if topic.partitions == -1 else topic.partitions
        factor = self._rules.default_replication_factor if topic.replication_factor == -1 else topic.replication_factor
        if count < 1:
            raise BrokerError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
        self._check_room(count)
        return place(count, factor, self._live, self._counted(), self._random)

    def _manual(self, topic: NewTopic, assignment: Sequence[tuple[int, list[int]]]) -> Assignment:
        if topic.partitions != -1 or topic.replication_factor != -1:
            raise BrokerError(
                ErrorCode.INVALID_REQUEST, "With a manual assignment the number of partitions and the replication factor must be -1."
            )
        self._check_room(len(assignment))
        replicas = dict(assignment)
        if sorted(index for index, _ in assignment) != list(range(len(assignment))):
            raise BrokerError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Partitions must be numbered from 0 without gaps, each once.")
        factor = len(replicas[0])
        return [self._checked(replicas[index], factor) for index in range(len(assignment))]

    def _checked(self, replicas: Sequence[int], factor: int) -> tuple[int, ...]:
        if not replicas or len(set(replicas)) != len(replicas):
            raise BrokerError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Replicas {list(replicas)} must be at least one, each once.")
        if len(replicas) != factor:
            raise BrokerError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Replicas {list(replicas)} are not {factor} as those of the others.")
        unknown = [broker for broker in replicas if broker not in self._image.brokers]
        if unknown:
            raise BrokerError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Brokers {unknown} are not registered.")
        if not any(self._image.brokers[broker].live for broker in replicas):
            raise BrokerError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"All brokers of {list(replicas)} are fenced or stopping.")
        return tuple(replicas)

    def _add_partitions(self, topic_id: bytes, first: int, assignment: Assignment) -> None:
        for index, replicas in enumerate(assignment, first):
            isr = tuple(broker for broker in replicas if self._image.brokers[broker].live)
            self.records.append(PartitionCreated(topic_id, index, replicas, isr, isr[0], 0, 0))
        self._counted().add(assignment)
        self._added += len(assignment)

    def _check_room(self, more: int) -> None:
        most = self._rules.most_partitions_a_request
        if self._added + more > most:
            raise BrokerError(ErrorCode.POLICY_VIOLATION, f"One request may make at most {most} partitions.")

    def _check_collision(self, name: str) -> None:
        if ("." in name or "_" in name) and _metric_name(name) in self._names():
            raise BrokerError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with one that differs only in '.' and '_'.")

    def _new_id(self) -> bytes:
        """Random, but none of the low ids that Kafka sets aside, nor one that exists."""
        while True:
            topic_id = self._random.randbytes(ID_SIZE)
            if int.from_bytes(topic_id) >= IDS_SET_ASIDE and topic_id not in self._image.topic_names:
                return topic_id

    def _counted(self) -> Load:
        if self._load is None:
            self._load = Load(self._image)
        return self._load

    def _names(self) -> set[str]:
        if self._metric_names is None:
            self._metric_names = set(map(_metric_name, self._image.topics))
        return self._metric_names


def _metric_name(name: str) -> str:
    return name.replace(".", "_")


def _without_id(result: TopicCreation) -> TopicCreation:
    return TopicCreation(result.name, result.error, result.message, b"", result.partitions, result.replication_factor)


_NAME = re.compile(r"[a-zA-Z0-9._-]+")
