"""What other brokers send on the same port: Raft messages, commands and questions to the controller, word of a damaged batch."""

import asyncio
from collections.abc import Callable

from broker_impl.api import cluster
from broker_impl.api.services import Services
from broker_impl.config import Address
from broker_impl.network.connection import Exchange
from broker_impl.network.peers import (
    COMMAND_KEY,
    QUORUM_KEY,
    RAFT_KEY,
    SUSPECT_KEY,
    Peers,
    decode_command,
    decode_raft,
    decode_suspect,
    encode_reply,
)
from broker_impl.protocol.errors import BrokerError
from broker_impl.protocol.frames import RequestHeader, frame_response
from broker_impl.protocol.messages.describe_quorum import MAX_VERSION as QUORUM_VERSION
from broker_impl.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from broker_impl.protocol.schema import decode, encode
from broker_impl.protocol.wire import Reader
from broker_impl.quorum.commands import Command

QUORUM_TIMEOUT_S = 2.0


class PeerApi:
    def __init__(self, services: Services, peers: Peers) -> None:
        self._services = services
        self._peers = peers
        self._tasks: set[asyncio.Task[None]] = set()

    def handlers(self) -> dict[int, Callable[[memoryview, RequestHeader, Exchange], bool]]:
        return {RAFT_KEY: self._raft, COMMAND_KEY: self._command, SUSPECT_KEY: self._suspect, QUORUM_KEY: self._quorum}

    async def describe_quorum(self, services: Services, request: DescribeQuorumRequest, version: int) -> DescribeQuorumResponse:
        """A client asks any broker; only the controller knows how far the others have come, so it is asked in turn, once."""
        controller = services.quorum.controller_id
        if not services.quorum.raft.serving and controller not in (-1, services.config.node_id):
            answer = await self._peers.describe_quorum(controller, encode(request, QUORUM_VERSION, True), QUORUM_TIMEOUT_S)
            if answer is not None:
                return decode(DescribeQuorumResponse, QUORUM_VERSION, True, Reader(answer))
        return cluster.describe_quorum(services, request, version)

    def _raft(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        envelope = decode_raft(frame[header.body_position :], self._services.config.cluster_id)
        self._peers.learn(envelope.message.sender, Address(envelope.host, envelope.port))
        self._services.quorum.receive(envelope.message)
        return False

    def _command(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        command = decode_command(frame[header.body_position :], self._services.config.cluster_id)
        task = self._services.loop.create_task(self._carry_out(command, header, exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _carry_out(self, command: Command, header: RequestHeader, exchange: Exchange) -> None:
        envelope = await self._services.quorum.serve(command)
        if exchange.closed:
            return
        if envelope is None:
            exchange.refuse("stopped being the controller before a command was committed")
        else:
            exchange.reply([frame_response(header.api_key, header.api_version, header.correlation_id, encode_reply(envelope))])

    def _quorum(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        request = decode(DescribeQuorumRequest, QUORUM_VERSION, True, Reader(frame, header.body_position))
        answer = encode(cluster.describe_quorum(self._services, request, QUORUM_VERSION), QUORUM_VERSION, True)
        exchange.reply([frame_response(header.api_key, header.api_version, header.correlation_id, answer)])
        return True

    def _suspect(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        """A follower could not use a batch of ours. If our own copy is damaged, the partition goes offline here: better no
        answer than a wrong one."""
        suspect = decode_suspect(frame[header.body_position :], self._services.config.cluster_id)
        replicas = self._services.replicas
        name = replicas.image.topic_names.get(suspect.topic_id)
        try:
            replica = replicas.find(name or "", suspect.index)
        except BrokerError:
            return False
        if replica.log.failed is None and not replica.log.verify_at(suspect.offset):
            replica.log.failed = f"the batch at offset {suspect.offset} is damaged"
            self._services.machine.journal.error("log-offline", topic=replica.topic, part=replica.index, why=replica.log.failed)
        return False
