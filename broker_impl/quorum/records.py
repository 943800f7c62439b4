"""What the metadata log is made of: small facts, each true from the entry that carries it onwards.

One Raft entry holds a list of records that happen together or not at all: a broker is fenced *and* its
partitions get other leaders, nobody ever sees one without the other. Records state outcomes, never wishes
("leader is 2 in epoch 7", not "elect a leader"), so that replay needs no decision and every node, whatever
its version or clock, arrives at the same image.

The trap: once written, a record is read for ever. Fields are positional; new ones go to the end with a default.
"""

from collections.abc import Iterable

import msgspec

NO_LEADER = -1


class BrokerRegistered(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """A new incarnation of a broker. `epoch` is the offset of its entry; it is fenced until it has caught up."""

    id: int
    epoch: int
    incarnation: str
    host: str
    port: int
    rack: str | None = None


class BrokerFenced(msgspec.Struct, frozen=True, tag=True, array_like=True):
    id: int
    epoch: int


class BrokerUnfenced(msgspec.Struct, frozen=True, tag=True, array_like=True):
    id: int
    epoch: int


class BrokerStopping(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """This incarnation is on its way out: it leads nothing and joins no ISR again."""

    id: int
    epoch: int


class TopicCreated(msgspec.Struct, frozen=True, tag=True, array_like=True):
    name: str
    id: bytes


class TopicDeleted(msgspec.Struct, frozen=True, tag=True, array_like=True):
    id: bytes


class PartitionCreated(msgspec.Struct, frozen=True, tag=True, array_like=True):
    topic_id: bytes
    index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


class PartitionChanged(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """`elr`: the eligible leader replicas; `recalled`: broker, last epoch and log end of those that came back uncleanly (`elections`)."""

    topic_id: bytes
    index: int
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    elr: tuple[int, ...] = ()
    recalled: tuple[tuple[int, int, int], ...] = ()


class ConfigChanged(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """`kind` is "topic" or "broker" (name "" is the default of all brokers); value None removes the key."""

    kind: str
    name: str
    key: str
    value: str | None


class ProducerIdsAllocated(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """All producer ids below `next_id` are given out; the last block went to `broker_id`."""

    broker_id: int
    next_id: int


Record = (
    BrokerRegistered
    | BrokerFenced
    | BrokerUnfenced
    | BrokerStopping
    | TopicCreated
    | TopicDeleted
    | PartitionCreated
    | PartitionChanged
    | ConfigChanged
    | ProducerIdsAllocated
)


class MalformedRecords(Exception):
    """An entry of the metadata log that this version cannot read: corrupt, or written by a newer one."""


def encode_records(records: Iterable[Record]) -> bytes:
    return _ENCODER.encode(list(records))


def decode_records(payload: bytes) -> list[Record]:
    """The records of one entry; an empty payload (a new Raft leader's first entry) holds none."""
    if not payload:
        return []
    try:
        return _DECODER.decode(payload)
    except msgspec.DecodeError as error:
        raise MalformedRecords(f"metadata entry of {len(payload)} bytes cannot be read: {error}") from error


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[Record])
