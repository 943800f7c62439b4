"""What may be asked of the controller, and what it answers.

Commands travel between brokers as msgpack. Every item of a request succeeds or fails alone: its result carries
an error code (0 is success) and a sentence, in the order of the request.

The trap: a command may arrive late, twice, or after its sender is gone. So what changes a broker or a partition
names the state it was decided on (broker epoch, leader epoch, partition epoch), and the controller compares.
"""

from enum import IntEnum

import msgspec


class RegisterBroker(msgspec.Struct, frozen=True, tag=True):
    """`clean_epoch` is the broker epoch found in the clean-shutdown marker, None without a marker.

    `ends`: topic id, partition, last leader epoch and end of each log it has, which matter after an unclean stop.
    """

    id: int
    incarnation: str
    host: str
    port: int
    rack: str | None = None
    clean_epoch: int | None = None
    ends: list[tuple[bytes, int, int, int]] = []


class Registered(msgspec.Struct, frozen=True, tag=True):
    epoch: int
    error: int = 0
    message: str = ""


class Heartbeat(msgspec.Struct, frozen=True, tag=True):
    """`metadata_offset` is the offset of the image this broker has applied."""

    id: int
    epoch: int
    metadata_offset: int
    want_shutdown: bool = False


class HeartbeatReply(msgspec.Struct, frozen=True, tag=True):
    """STALE_BROKER_EPOCH and BROKER_ID_NOT_REGISTERED mean: stop serving, register again."""

    fenced: bool
    may_stop: bool
    error: int = 0
    message: str = ""


class IsrChange(msgspec.Struct, frozen=True):
    topic_id: bytes
    index: int
    leader_epoch: int
    partition_epoch: int
    new_isr: list[tuple[int, int]]  # (broker, its epoch as the leader knows it)


class AlterIsr(msgspec.Struct, frozen=True, tag=True):
    id: int
    epoch: int
    changes: list[IsrChange]


class IsrResult(msgspec.Struct, frozen=True):
    """The partition as the controller has it, after a change and after a refusal alike (-1 and empty if it is unknown)."""

    error: int = 0
    message: str = ""
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1


class AlterIsrReply(msgspec.Struct, frozen=True, tag=True):
    results: list[IsrResult]
    error: int = 0
    message: str = ""


class NewTopic(msgspec.Struct, frozen=True):
    """-1 partitions or replicas: the cluster's default. `assignment` lists (partition index, replicas) and excludes both."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignment: list[tuple[int, list[int]]] | None = None
    configs: dict[str, str | None] = {}


class CreateTopics(msgspec.Struct, frozen=True, tag=True):
    topics: list[NewTopic]
    validate_only: bool = False


class TopicCreation(msgspec.Struct, frozen=True):
    """`id` is empty when nothing was made; partitions and replication factor are -1 after an error."""

    name: str
    error: int = 0
    message: str = ""
    id: bytes = b""
    partitions: int = -1
    replication_factor: int = -1


class CreateTopicsReply(msgspec.Struct, frozen=True, tag=True):
    results: list[TopicCreation]


class DeleteTopics(msgspec.Struct, frozen=True, tag=True):
    """Each topic by its name or by its 16-byte id; the results follow that order, names first."""

    names: list[str] = []
    ids: list[bytes] = []


class TopicDeletion(msgspec.Struct, frozen=True):
    name: str | None
    id: bytes
    error: int = 0
    message: str = ""


class DeleteTopicsReply(msgspec.Struct, frozen=True, tag=True):
    results: list[TopicDeletion]


class MorePartitions(msgspec.Struct, frozen=True):
    """`count` is the total wanted; `assignment` holds the replicas of each partition added."""

    name: str
    count: int
    assignment: list[list[int]] | None = None


class CreatePartitions(msgspec.Struct, frozen=True, tag=True):
    topics: list[MorePartitions]
    validate_only: bool = False


class TopicResult(msgspec.Struct, frozen=True):
    name: str
    error: int = 0
    message: str = ""


class CreatePartitionsReply(msgspec.Struct, frozen=True, tag=True):
    results: list[TopicResult]


class ConfigOperation(IntEnum):
    """The numbers of IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigEdit(msgspec.Struct, frozen=True):
    key: str
    operation: int
    value: str | None = None


class ConfigResourceEdits(msgspec.Struct, frozen=True):
    """`kind` is "topic" or "broker"; broker name "" stands for the default of all brokers."""

    kind: str
    name: str
    edits: list[ConfigEdit]


class AlterConfigs(msgspec.Struct, frozen=True, tag=True):
    resources: list[ConfigResourceEdits]
    validate_only: bool = False


class ConfigResult(msgspec.Struct, frozen=True):
    kind: str
    name: str
    error: int = 0
    message: str = ""


class AlterConfigsReply(msgspec.Struct, frozen=True, tag=True):
    results: list[ConfigResult]


class ElectLeaders(msgspec.Struct, frozen=True, tag=True):
    """`partitions` None means all, and then only those are answered for which an election was needed."""

    unclean: bool
    partitions: list[tuple[str, int]] | None = None


class ElectionResult(msgspec.Struct, frozen=True):
    topic: str
    index: int
    error: int = 0
    message: str = ""


class ElectLeadersReply(msgspec.Struct, frozen=True, tag=True):
    results: list[ElectionResult]


class AllocateProducerIds(msgspec.Struct, frozen=True, tag=True):
    id: int
    epoch: int


class ProducerIdBlock(msgspec.Struct, frozen=True, tag=True):
    """The ids first .. first + count - 1 belong to the asking broker alone."""

    first: int
    count: int
    error: int = 0
    message: str = ""


Command = (
    RegisterBroker
    | Heartbeat
    | AlterIsr
    | CreateTopics
    | DeleteTopics
    | CreatePartitions
    | AlterConfigs
    | ElectLeaders
    | AllocateProducerIds
)
Reply = (
    Registered
    | HeartbeatReply
    | AlterIsrReply
    | CreateTopicsReply
    | DeleteTopicsReply
    | CreatePartitionsReply
    | AlterConfigsReply
    | ElectLeadersReply
    | ProducerIdBlock
)
