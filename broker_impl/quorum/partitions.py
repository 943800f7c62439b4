"""Leaders and ISRs: what happens to partitions when brokers come and go, and what their leaders may change.

A leader asks for a new ISR by compare-and-set. Everything its wish rests on is named in it and compared: that it
is this incarnation of the broker, that it still leads in this epoch, that nobody changed the partition since, that
each member is alive in the incarnation the leader has seen. A wish that rests on anything older changes nothing.

A wish for the set as it is raises the partition epoch all the same. The leader makes it to be sure that an earlier wish, whose
answer it never got, can no longer be granted: until then it waits for a replica that may be gone.
"""

from collections.abc import Mapping
from dataclasses import replace

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.brokers import require_current
from broker_impl.quorum.commands import (
    AlterIsr,
    AlterIsrReply,
    ElectionResult,
    ElectLeaders,
    ElectLeadersReply,
    IsrChange,
    IsrResult,
)
from broker_impl.quorum.elections import change_record, elect, elect_preferred, outside, with_state
from broker_impl.quorum.image import Image, PartitionImage
from broker_impl.quorum.records import PartitionChanged, Record
from broker_impl.quorum.topic_configs import min_insync


def alter_isr(image: Image, command: AlterIsr, defaults: Mapping[str, str]) -> tuple[list[Record], AlterIsrReply]:
    try:
        require_current(image, command.id, command.epoch)
    except BrokerError as refusal:
        return [], AlterIsrReply([], refusal.code, refusal.message)
    records: list[Record] = []
    results = []
    changed: dict[tuple[bytes, int], PartitionImage] = {}
    for change in command.changes:
        result, partition = _alter_one(image, command.id, change, changed, defaults)
        results.append(result)
        if partition is not None:
            changed[change.topic_id, change.index] = partition
            records.append(change_record(change.topic_id, partition))
    return records, AlterIsrReply(results)


def elect_leaders(image: Image, command: ElectLeaders, defaults: Mapping[str, str]) -> tuple[list[Record], ElectLeadersReply]:
    """Preferred elections move leadership home; unclean ones revive a partition whose ISR is gone, at the price of data."""
    everything = command.partitions is None
    all_partitions = ((topic.name, partition.index) for topic, partition in image.all_partitions())
    wanted = all_partitions if command.partitions is None else command.partitions
    live = image.live_brokers()
    records: list[Record] = []
    results = []
    for name, index in dict.fromkeys(wanted):
        try:
            records.append(_elect_one(image, name, index, live, defaults, unclean=command.unclean))
            results.append(ElectionResult(name, index))
        except BrokerError as refusal:
            if not (everything and refusal.code == ErrorCode.ELECTION_NOT_NEEDED):
                results.append(ElectionResult(name, index, refusal.code, refusal.message))
    return records, ElectLeadersReply(results)


def _elect_one(
    image: Image, name: str, index: int, live: frozenset[int], defaults: Mapping[str, str], *, unclean: bool
) -> PartitionChanged:
    topic = image.topics.get(name)
    partition = None if topic is None else topic.partitions.get(index)
    if topic is None or partition is None:
        raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition: {name}-{index}")
    needed = partition.leaderless if unclean else partition.leader != partition.replicas[0]
    if not needed:
        raise BrokerError(ErrorCode.ELECTION_NOT_NEEDED, f"{name}-{index} is led by {partition.leader}")
    elected = elect(partition, live, min_insync(image, name, defaults), unclean=True) if unclean else elect_preferred(partition, live)
    if elected is partition:
        code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        raise BrokerError(code, f"No eligible leader of {name}-{index} is live; replicas {partition.replicas}, ISR {partition.isr}")
    return change_record(topic.id, elected)


def _alter_one(
    image: Image, sender: int, change: IsrChange, changed: Mapping[tuple[bytes, int], PartitionImage], defaults: Mapping[str, str]
) -> tuple[IsrResult, PartitionImage | None]:
    """The result, and the partition if it changed."""
    topic = image.topic(change.topic_id)
    if topic is None:
        return IsrResult(ErrorCode.UNKNOWN_TOPIC_ID, "no such topic"), None
    partition = changed.get((change.topic_id, change.index)) or topic.partitions.get(change.index)
    if partition is None:
        return IsrResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such partition"), None
    try:
        _compare(image, sender, change, partition)
    except BrokerError as refusal:
        return _result(partition, refusal.code, refusal.message), None
    isr = [broker for broker, _ in change.new_isr]
    altered = with_state(partition, isr, partition.leader, outside(partition, isr, min_insync(image, topic.name, defaults)))
    if altered is partition:
        altered = replace(partition, partition_epoch=partition.partition_epoch + 1)
    return _result(altered), altered


def _result(partition: PartitionImage, error: int = 0, message: str = "") -> IsrResult:
    return IsrResult(error, message, partition.leader, partition.leader_epoch, partition.isr, partition.partition_epoch)


def _compare(image: Image, sender: int, change: IsrChange, partition: PartitionImage) -> None:
    """Raises unless the change was decided on the present state."""
    if change.leader_epoch != partition.leader_epoch:
        raise BrokerError(ErrorCode.FENCED_LEADER_EPOCH, f"the leader epoch is {partition.leader_epoch}")
    if partition.leader != sender:
        raise BrokerError(ErrorCode.INVALID_REQUEST, f"the leader is {partition.leader}")
    if change.partition_epoch != partition.partition_epoch:
        raise BrokerError(ErrorCode.INVALID_UPDATE_VERSION, f"the partition epoch is {partition.partition_epoch}")
    members = [broker for broker, _ in change.new_isr]
    if sender not in members or len(set(members)) != len(members) or not set(members) <= set(partition.replicas):
        raise BrokerError(ErrorCode.INVALID_REQUEST, f"ISR {members} must hold the leader and replicas {partition.replicas} only, once")
    for member, epoch in change.new_isr:
        broker = image.brokers.get(member)
        if broker is None or broker.epoch != epoch or not (broker.live or member in partition.isr):
            raise BrokerError(ErrorCode.INELIGIBLE_REPLICA, f"broker {member} is fenced, stopping, or not in epoch {epoch}")
