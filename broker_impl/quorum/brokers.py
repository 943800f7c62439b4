"""Brokers come, stay in touch and go; their partitions follow in the same entry.

Registration gives an incarnation of a broker its epoch: the offset of the entry, so no two are alike. It fences
the incarnation before it, whose process may still be dying somewhere, and what that one led gets another leader or
none: if the newcomer leads it again, it does so in a new leader epoch.

A broker that stopped cleanly has on disk all it ever had, and keeps its place in the ISRs. *Unclean* is every other
start: the epoch in its marker is not the last one registered. Its page cache may be gone, so it leaves every ISR
in which somebody else remains, or whose place somebody else can take (`elections`).

The trap is to unfence too early: a broker that has not yet replayed its own registration does not know which
partitions it holds.
"""

from collections.abc import Mapping

from broker_impl.protocol.errors import BrokerError, ErrorCode
from broker_impl.quorum.commands import Heartbeat, HeartbeatReply, RegisterBroker, Registered
from broker_impl.quorum.elections import elect_everywhere
from broker_impl.quorum.image import BrokerImage, Image
from broker_impl.quorum.records import BrokerFenced, BrokerRegistered, BrokerStopping, BrokerUnfenced, Record


def require_current(image: Image, broker_id: int, epoch: int) -> BrokerImage:
    """The broker, if this is its present incarnation."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise BrokerError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is registered in epoch {broker.epoch}, not {epoch}")
    return broker


def register(image: Image, command: RegisterBroker, offset: int, defaults: Mapping[str, str]) -> tuple[list[Record], Registered]:
    if command.id < 0:
        return [], Registered(-1, ErrorCode.INVALID_REQUEST, f"{command.id} is no broker id")
    known = image.brokers.get(command.id)
    if known is not None and known.incarnation == command.incarnation:
        return [], Registered(known.epoch)
    clean = known is not None and command.clean_epoch == known.epoch
    registration = BrokerRegistered(command.id, offset, command.incarnation, command.host, command.port, command.rack)
    ends = {(topic, index): (epoch, end) for topic, index, epoch, end in command.ends}
    live = image.live_brokers() - {command.id}
    moves = elect_everywhere(image, live, defaults) if clean else elect_everywhere(image, live, defaults, lost=command.id, ends=ends)
    return [registration, *moves], Registered(offset)


def heartbeat(image: Image, command: Heartbeat, defaults: Mapping[str, str]) -> tuple[list[Record], HeartbeatReply]:
    try:
        broker = require_current(image, command.id, command.epoch)
    except BrokerError as refusal:
        return [], HeartbeatReply(fenced=True, may_stop=False, error=refusal.code, message=refusal.message)
    if broker.stopping:
        return [], HeartbeatReply(broker.fenced, may_stop=True)
    if command.want_shutdown:
        return _stop(image, broker, defaults), HeartbeatReply(broker.fenced, may_stop=True)
    if broker.fenced and command.metadata_offset >= broker.epoch:
        return _unfence(image, broker, defaults), HeartbeatReply(fenced=False, may_stop=False)
    return [], HeartbeatReply(broker.fenced, may_stop=False)


def fence(image: Image, broker: BrokerImage, defaults: Mapping[str, str]) -> list[Record]:
    """The broker is silent. One that is fenced already may still have a place in an ISR from before its clean stop."""
    moves = elect_everywhere(image, image.live_brokers() - {broker.id}, defaults, leaving=broker.id)
    return moves if broker.fenced else [BrokerFenced(broker.id, broker.epoch), *moves]


def _unfence(image: Image, broker: BrokerImage, defaults: Mapping[str, str]) -> list[Record]:
    return [BrokerUnfenced(broker.id, broker.epoch), *elect_everywhere(image, image.live_brokers() | {broker.id}, defaults)]


def _stop(image: Image, broker: BrokerImage, defaults: Mapping[str, str]) -> list[Record]:
    """Leadership and ISRs go to the others at once. Where it is alone the partition waits for its return, so it may stop now."""
    moves = elect_everywhere(image, image.live_brokers() - {broker.id}, defaults, leaving=broker.id)
    return [BrokerStopping(broker.id, broker.epoch), *moves]
