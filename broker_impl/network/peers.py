"""What brokers say to each other beside Fetch: Raft messages one way, commands to the controller with an answer.

Both travel in Kafka's framing on the ordinary port, under API keys no client uses, as msgpack. Each carries the
cluster's id: a stray message from another cluster, or from a client that tries numbers, is refused before it is
looked at. A client's question about the quorum is passed on to the controller as it came: it is read-only.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from broker_impl.config import Address
from broker_impl.network.link import Link
from broker_impl.protocol.wire import MalformedRequest
from broker_impl.quorum.commands import Command, Reply
from broker_impl.quorum.raft import RaftMessage

RAFT_KEY = 20_000
COMMAND_KEY = 20_001
SUSPECT_KEY = 20_002
QUORUM_KEY = 20_003
VERSION = 0
CORRELATION = 4
LARGEST_REPLY = 64 << 20


class RaftEnvelope(msgspec.Struct, frozen=True, array_like=True):
    """Says where its sender is reached: the quorum answers observers that no voters' list names."""

    cluster: str
    message: RaftMessage
    host: str
    port: int


class SuspectBatch(msgspec.Struct, frozen=True, array_like=True):
    """A follower got a damaged batch: its leader shall look at its own copy."""

    cluster: str
    topic_id: bytes
    index: int
    offset: int


class CommandEnvelope(msgspec.Struct, frozen=True, array_like=True):
    cluster: str
    command: Command


class ReplyEnvelope(msgspec.Struct, frozen=True, array_like=True):
    """`reply` is None where the node asked does not serve as the controller. `offset`: whoever has applied the metadata
    log up to there sees what the reply speaks of."""

    reply: Reply | None
    offset: int = -1


NOT_CONTROLLER = ReplyEnvelope(None)


class Peers:
    """The links to other nodes, by node id. Addresses come from the voters' list and from registrations."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cluster: str, node: int, address: Address, voters: Mapping[int, Address]) -> None:
        self._loop = loop
        self._cluster = cluster
        self._node = node
        self._address = address
        self._voters = frozenset(voters)
        self._addresses = dict(voters)
        self._links: dict[int, Link] = {}

    def learn(self, node: int, address: Address) -> None:
        """Where a node is reached; voters stay where the configuration has them."""
        if node not in self._voters and self._addresses.get(node) != address:
            self._addresses[node] = address
            stale = self._links.pop(node, None)
            if stale is not None:
                stale.close()

    def connect(self, nodes: Iterable[int]) -> None:
        """Ahead of the first message, which would be dropped otherwise."""
        for node in nodes:
            link = self._link(node) if node != self._node else None
            if link is not None:
                link.connect()

    def post(self, to: int, message: RaftMessage) -> None:
        link = self._link(to)
        if link is not None:
            link.post(RAFT_KEY, VERSION, msgspec.msgpack.encode(self._envelope(message)))

    def suspect(self, leader: int, topic_id: bytes, index: int, offset: int) -> None:
        link = self._link(leader)
        if link is not None:
            link.post(SUSPECT_KEY, VERSION, msgspec.msgpack.encode(SuspectBatch(self._cluster, topic_id, index, offset)))

    async def ask(self, to: int, command: Command, timeout_s: float) -> ReplyEnvelope | None:
        """None: the answer was lost, and the command may or may not have been carried out.

        A node that is cut off is not waited for longer than that: meanwhile another may have become the controller."""
        link = self._link(to)
        if link is None or not await link.connection(timeout_s):
            return NOT_CONTROLLER
        body = msgspec.msgpack.encode(CommandEnvelope(self._cluster, command))
        answer = await link.request(COMMAND_KEY, VERSION, body, timeout_s)
        try:
            return None if answer is None else _decode(memoryview(answer)[CORRELATION:], _REPLY)
        except MalformedRequest:
            return None

    async def describe_quorum(self, controller: int, request: bytes, timeout_s: float) -> memoryview | None:
        """The controller's own answer to a client's question, in Kafka's encoding."""
        link = self._link(controller)
        answer = None if link is None else await link.request(QUORUM_KEY, VERSION, request, timeout_s)
        return None if answer is None else memoryview(answer)[CORRELATION:]

    def new_link(self, node: int, largest_reply: int) -> Link | None:
        """A connection of its own, for a stream that must not wait behind others (a follower's fetches)."""
        address = self._addresses.get(node)
        return None if address is None else Link(self._loop, address.host, address.port, f"broker-{self._node}", largest_reply)

    def close(self) -> None:
        for link in self._links.values():
            link.close()

    def _envelope(self, message: RaftMessage) -> RaftEnvelope:
        return RaftEnvelope(self._cluster, message, self._address.host, self._address.port)

    def _link(self, node: int) -> Link | None:
        link = self._links.get(node)
        if link is None:
            link = self.new_link(node, LARGEST_REPLY)
            if link is not None:
                self._links[node] = link
        return link


def decode_raft(body: memoryview, cluster: str) -> RaftEnvelope:
    envelope: RaftEnvelope = _decode(body, _RAFT)
    _check_cluster(envelope.cluster, cluster)
    return envelope


def decode_command(body: memoryview, cluster: str) -> Command:
    envelope: CommandEnvelope = _decode(body, _COMMAND)
    _check_cluster(envelope.cluster, cluster)
    return envelope.command


def decode_suspect(body: memoryview, cluster: str) -> SuspectBatch:
    suspect: SuspectBatch = _decode(body, _SUSPECT)
    _check_cluster(suspect.cluster, cluster)
    return suspect


def encode_reply(envelope: ReplyEnvelope) -> bytes:
    return msgspec.msgpack.encode(envelope)


_RAFT = msgspec.msgpack.Decoder(RaftEnvelope)
_COMMAND = msgspec.msgpack.Decoder(CommandEnvelope)
_SUSPECT = msgspec.msgpack.Decoder(SuspectBatch)
_REPLY = msgspec.msgpack.Decoder(ReplyEnvelope)


def _decode(body: memoryview | bytes, decoder: "msgspec.msgpack.Decoder[Any]") -> Any:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, msgspec.ValidationError) as problem:
        raise MalformedRequest(str(problem)) from None


def _check_cluster(given: str, own: str) -> None:
    if given != own:
        raise MalformedRequest(f"a message for cluster {given!r}")
