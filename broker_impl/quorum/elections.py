"""Who leads a partition: the one place that decides it, as a pure function of one partition and the live brokers.

The leader is the first live member of the ISR in assignment order, and stays while it is live: an election is
a disturbance. Nobody is chosen who may lack an acknowledged record; with nobody else live the partition has no leader and
waits. Only where the topic says that availability matters more does the first live replica win, and then the ISR is that
one alone: an unclean election.

Who leaves an ISR that is then smaller than min.insync.replicas stays *eligible* (the ELR of KIP-966): the high watermark stands
still from that moment until the ISR is large enough again, so the one who left has every acknowledged record, too. It leads when
no member of the ISR can. And where the last member of the ISR comes back from an unclean stop, perhaps without its tail, an
eligible one takes its place.

The last member of an ISR is otherwise never taken out, dead or alive: it is the memory of who must come back. So a broker
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
from broker_impl.quorum.topic_configs import min_insync, unclean_election_allowed


def elect(
    partition: PartitionImage,
    live: Set[int],
    min_isr: int,
    *,
    leaving: int | None = None,
    lost: int | None = None,
    unclean: bool = False,
) -> PartitionImage:
    """The partition with the leader it should have; the same object if nothing is to change.

    `leaving` goes out of the ISR with its log whole; `lost` may have lost the tail of its log, and is eligible no more.
    """
    elr = tuple(member for member in partition.elr if member != lost)
    isr = tuple(member for member in partition.isr if member not in (leaving, lost))
    if not isr:
        isr = elr[:1] if elr and partition.isr == (lost,) else partition.isr
    leader = partition.leader if partition.leader in live & set(isr) else _first(partition.replicas, live & set(isr))
    if leader == NO_LEADER:
        leader = _first(partition.replicas, live & set(elr))
        isr = isr if leader == NO_LEADER else (leader,)
    if leader == NO_LEADER and unclean:
        leader = _first(partition.replicas, live)
        if leader != NO_LEADER:
            return with_state(partition, (leader,), leader, ())
    return with_state(partition, isr, leader, eligible(partition, isr, min_isr, lost))


def elect_everywhere(
    image: Image, live: Set[int], defaults: Mapping[str, str], *, leaving: int | None = None, lost: int | None = None
) -> list[Record]:
    """The changes of all partitions that follow when these brokers are live and one leaves the ISRs, with its log whole or not."""
    records: list[Record] = []
    for topic in image.topics.values():
        unclean = unclean_election_allowed(image, topic.name, defaults)
        min_isr = min_insync(image, topic.name, defaults)
        for partition in topic.partitions.values():
            elected = elect(partition, live, min_isr, leaving=leaving, lost=lost, unclean=unclean)
            if elected is not partition:
                records.append(change_record(topic.id, elected))
    return records


def elect_preferred(partition: PartitionImage, live: Set[int]) -> PartitionImage:
    """Led by the first replica of the assignment, if that one is live and in the ISR; else the same object."""
    preferred = partition.replicas[0]
    may_lead = preferred in live and preferred in partition.isr
    return with_state(partition, partition.isr, preferred, partition.elr) if may_lead else partition


def eligible(partition: PartitionImage, isr: Collection[int], min_isr: int, lost: int | None = None) -> set[int]:
    """Who has every acknowledged record, once this is the ISR, in it or not; nobody outside it where records can be acknowledged."""
    enough = len(isr) >= min(min_isr, len(partition.replicas))
    return set() if enough else {*partition.isr, *partition.elr} - {lost}


def with_state(partition: PartitionImage, isr: Collection[int], leader: int, eligible: Collection[int]) -> PartitionImage:
    """The next state with its epochs; the same object if it is the same state."""
    ordered = tuple(replica for replica in partition.replicas if replica in isr)
    elr = tuple(replica for replica in partition.replicas if replica in eligible and replica not in isr)
    if (ordered, leader, elr) == (partition.isr, partition.leader, partition.elr):
        return partition
    return replace(
        partition,
        isr=ordered,
        leader=leader,
        leader_epoch=partition.leader_epoch + (leader != partition.leader),
        partition_epoch=partition.partition_epoch + 1,
        elr=elr,
    )


def change_record(topic_id: bytes, partition: PartitionImage) -> PartitionChanged:
    state = (partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch, partition.elr)
    return PartitionChanged(topic_id, partition.index, *state)


def _first(replicas: tuple[int, ...], candidates: Set[int]) -> int:
    return next((replica for replica in replicas if replica in candidates), NO_LEADER)
