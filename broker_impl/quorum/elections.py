"""Who leads a partition: the one place that decides it, as a pure function of one partition and the live brokers.

The leader is the first live member of the ISR in assignment order, and stays while it is live: an election is
a disturbance. Nobody is chosen who may lack an acknowledged record; with nobody else live the partition has no leader and
waits. Only where the topic says that availability matters more does the first live replica win, and then the ISR is that
one alone: an unclean election.

Who leaves an ISR that is then smaller than min.insync.replicas stays *eligible* (the ELR of KIP-966): the high watermark stands
still from that moment until the ISR is large enough again, so the one who left has every acknowledged record, too. It leads when
no member of the ISR can.

A broker that comes back from an unclean stop may have lost the tail of its log. It leaves every ELR, and every ISR where somebody else
remains, but is *recalled* with the end of the log it brought. Where it is the last member of the ISR an eligible replica takes its
place. If there is none, all that could have every acknowledged record have come back like it, and the longest log among them
wins: by its last epoch, then by its end. A log with a record of a later epoch has all that was acknowledged before that epoch began.

The last member of an ISR is otherwise never taken out, dead or alive: it is the memory of who must come back. So a broker
that leaves stays in those ISRs in which it is alone.

Every change raises the partition epoch, every change of leader the leader epoch. A shrink under the same leader does
not raise the leader epoch: the follower that left cannot come back on a stale fetch, since the controller
compares partition epoch and broker epoch of every member, and a leader that has not heard of the shrink waits for
more replicas than it must, never for fewer. Raising it would only break off the requests of a healthy leader.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from broker_impl.quorum.image import Image, PartitionImage
from broker_impl.quorum.records import NO_LEADER, PartitionChanged, Record
from broker_impl.quorum.topic_configs import min_insync, unclean_election_allowed

Ends = Mapping[tuple[bytes, int], tuple[int, int]]
"""Last epoch and end of the log of each partition, by topic id and index."""
_NO_LOG = (-1, 0)


class Recalled(NamedTuple):
    """A broker that came back from an unclean stop, with what it had of one partition."""

    broker: int
    epoch: int
    end: int


class Outside(NamedTuple):
    """What is known of replicas beyond the ISR, while it is too small for a record to be acknowledged."""

    elr: tuple[int, ...] = ()
    recalled: tuple[tuple[int, int, int], ...] = ()


def elect(
    partition: PartitionImage,
    live: Set[int],
    min_isr: int,
    *,
    leaving: int | None = None,
    lost: Recalled | None = None,
    unclean: bool = False,
) -> PartitionImage:
    """The partition with the leader it should have; the same object if nothing is to change.

    `leaving` goes out of the ISR with its log whole; `lost` may have lost the tail of its log.
    """
    gone = None if lost is None else lost.broker
    elr, recalled = _known(partition, lost)
    isr = tuple(member for member in partition.isr if member not in (leaving, gone))
    if not isr:
        isr = elr[:1] or _longest(partition.replicas, recalled) if partition.isr == (gone,) else partition.isr
    leader = partition.leader if partition.leader in live & set(isr) else _first(partition.replicas, live & set(isr))
    if leader == NO_LEADER:
        leader = _first(partition.replicas, live & set(elr))
        isr = isr if leader == NO_LEADER else (leader,)
    if leader == NO_LEADER and unclean:
        leader = _first(partition.replicas, live)
        if leader != NO_LEADER:
            return with_state(partition, (leader,), leader, Outside())
    return with_state(partition, isr, leader, outside(partition, isr, min_isr, lost))


def elect_everywhere(
    image: Image,
    live: Set[int],
    defaults: Mapping[str, str],
    *,
    leaving: int | None = None,
    lost: int | None = None,
    ends: Ends | None = None,
) -> list[Record]:
    """The changes of all partitions that follow when these brokers are live and one leaves the ISRs, with its logs whole or not.

    `ends`: of the logs that `lost` has.
    """
    records: list[Record] = []
    for topic in image.topics.values():
        unclean = unclean_election_allowed(image, topic.name, defaults)
        min_isr = min_insync(image, topic.name, defaults)
        for partition in topic.partitions.values():
            back = None if lost is None else Recalled(lost, *(ends or {}).get((topic.id, partition.index), _NO_LOG))
            elected = elect(partition, live, min_isr, leaving=leaving, lost=back, unclean=unclean)
            if elected is not partition:
                records.append(change_record(topic.id, elected))
    return records


def elect_preferred(partition: PartitionImage, live: Set[int]) -> PartitionImage:
    """Led by the first replica of the assignment, if that one is live and in the ISR; else the same object."""
    preferred = partition.replicas[0]
    may_lead = preferred in live and preferred in partition.isr
    return with_state(partition, partition.isr, preferred, Outside(partition.elr, partition.recalled)) if may_lead else partition


def outside(partition: PartitionImage, isr: Collection[int], min_isr: int, lost: Recalled | None = None) -> Outside:
    """Once this is the ISR: who else has every acknowledged record, and who came back with what; nobody where more can be acknowledged."""
    if len(isr) >= min(min_isr, len(partition.replicas)):
        return Outside()
    elr, recalled = _known(partition, lost)
    members = {*partition.isr, *elr} - {*isr} - ({lost.broker} if lost is not None else set())
    return Outside(tuple(replica for replica in partition.replicas if replica in members), recalled)


def with_state(partition: PartitionImage, isr: Collection[int], leader: int, outside: Outside) -> PartitionImage:
    """The next state with its epochs; the same object if it is the same state."""
    ordered = tuple(replica for replica in partition.replicas if replica in isr)
    if (ordered, leader, *outside) == (partition.isr, partition.leader, partition.elr, partition.recalled):
        return partition
    return replace(
        partition,
        isr=ordered,
        leader=leader,
        leader_epoch=partition.leader_epoch + (leader != partition.leader),
        partition_epoch=partition.partition_epoch + 1,
        elr=outside.elr,
        recalled=outside.recalled,
    )


def change_record(topic_id: bytes, partition: PartitionImage) -> PartitionChanged:
    state = (partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch, partition.elr, partition.recalled)
    return PartitionChanged(topic_id, partition.index, *state)


def _known(partition: PartitionImage, lost: Recalled | None) -> Outside:
    """What is known beyond the ISR when this one has come back. Who had lost touch before knows nothing that matters."""
    if lost is None:
        return Outside(partition.elr, partition.recalled)
    elr = tuple(member for member in partition.elr if member != lost.broker)
    others = tuple(each for each in partition.recalled if each[0] != lost.broker)
    counts = lost.broker in (*partition.isr, *partition.elr) or len(others) < len(partition.recalled)
    return Outside(elr, tuple(sorted((*others, (lost.broker, lost.epoch, lost.end)))) if counts else others)


def _longest(replicas: tuple[int, ...], recalled: Collection[tuple[int, int, int]]) -> tuple[int, ...]:
    """Whose log is the longest; of equals the first in assignment order."""
    best = max(recalled, key=lambda each: (each[1], each[2], -replicas.index(each[0])))
    return (best[0],)


def _first(replicas: tuple[int, ...], candidates: Set[int]) -> int:
    return next((replica for replica in replicas if replica in candidates), NO_LEADER)
