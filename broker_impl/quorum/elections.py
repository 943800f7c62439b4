"""Who leads a partition: the one place that decides it, as a pure function of one partition and the live brokers.

The leader is the first live member of the ISR in assignment order, and stays while it is live: an election is
a disturbance. Nobody outside the ISR is chosen, as only its members hold every acknowledged record; with nobody
live in it the partition has no leader and waits. Only where the topic says that availability matters more does
the first live replica win, and then the ISR is that one alone: an unclean election.

The last member of an ISR is never taken out, dead or alive: it is the memory of who must come back. So a broker
that leaves stays in those ISRs in which it is alone.

Every change raises the partition epoch, every change of leader the leader epoch. A shrink under the same leader does
not raise the leader epoch: the follower that left cannot come back on a stale fetch, since the controller
compares partition epoch and broker epoch of every member, and a leader that has not heard of the shrink waits for
more replicas than it must, never for fewer. Raising it would only break off the requests of a healthy leader.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import replace

from broker_impl.quorum.image import Image, PartitionImage
from broker_impl.quorum.records import NO_LEADER, PartitionChanged, Record
from broker_impl.quorum.topic_configs import unclean_election_allowed


def elect(partition: PartitionImage, live: Set[int], *, leaving: int | None = None, unclean: bool = False) -> PartitionImage:
    """The partition with the leader it should have; the same object if nothing is to change."""
    isr = tuple(member for member in partition.isr if member != leaving) or partition.isr
    if partition.leader in isr and partition.leader in live:
        return with_state(partition, isr, partition.leader)
    leader = _first(partition.replicas, live & set(isr))
    if leader == NO_LEADER and unclean:
        leader = _first(partition.replicas, live)
        isr = isr if leader == NO_LEADER else (leader,)
    return with_state(partition, isr, leader)


def elect_everywhere(image: Image, live: Set[int], defaults: Mapping[str, str], *, leaving: int | None = None) -> list[Record]:
    """The changes of all partitions that follow when these brokers are live and one of them leaves the ISRs."""
    records: list[Record] = []
    for topic in image.topics.values():
        unclean = unclean_election_allowed(image, topic.name, defaults)
        for partition in topic.partitions.values():
            elected = elect(partition, live, leaving=leaving, unclean=unclean)
            if elected is not partition:
                records.append(change_record(topic.id, elected))
    return records


def elect_preferred(partition: PartitionImage, live: Set[int]) -> PartitionImage:
    """Led by the first replica of the assignment, if that one is live and in the ISR; else the same object."""
    preferred = partition.replicas[0]
    eligible = preferred in live and preferred in partition.isr
    return with_state(partition, partition.isr, preferred) if eligible else partition


def with_state(partition: PartitionImage, isr: Collection[int], leader: int) -> PartitionImage:
    """The next state with its epochs; the same object if it is the same state."""
    ordered = tuple(replica for replica in partition.replicas if replica in isr)
    if ordered == partition.isr and leader == partition.leader:
        return partition
    return replace(
        partition,
        isr=ordered,
        leader=leader,
        leader_epoch=partition.leader_epoch + (leader != partition.leader),
        partition_epoch=partition.partition_epoch + 1,
    )


def change_record(topic_id: bytes, partition: PartitionImage) -> PartitionChanged:
    return PartitionChanged(topic_id, partition.index, partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch)


def _first(replicas: tuple[int, ...], eligible: Set[int]) -> int:
    return next((replica for replica in replicas if replica in eligible), NO_LEADER)
