"""From a frame to the handler of its API, and from the handler's answer back to a frame.

A handler is a function of the decoded request; one that has to ask the controller is a coroutine, and its answer
takes its place in the line when it is there. While a broker that starts has not caught up with the metadata, answers that
rest on it wait. What cannot be read closes its own connection and touches no other; an
error of our own does the same and is logged as such.
"""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from broker_impl.api import cluster, configs, metadata, offsets, topics
from broker_impl.api.fetch import FetchApi
from broker_impl.api.peers import PeerApi
from broker_impl.api.produce import ProduceApi
from broker_impl.api.producers import ProducerIds
from broker_impl.api.services import Services
from broker_impl.network.connection import Exchange
from broker_impl.protocol.frames import RequestHeader, frame_response, parse_request_header
from broker_impl.protocol.messages import (
    api_versions,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_quorum,
    describe_topic_partitions,
    elect_leaders,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
)
from broker_impl.protocol.messages import metadata as metadata_message
from broker_impl.protocol.registry import API_VERSIONS, APIS, FETCH, PRODUCE, Api
from broker_impl.protocol.schema import decode, encode
from broker_impl.protocol.wire import MalformedRequest, Reader

Handler = Callable[[Services, Any, int], Any]
HotHandler = Callable[[memoryview, RequestHeader, Exchange], bool]

NEED_NO_IMAGE = (API_VERSIONS, describe_quorum.KEY)


class Dispatcher:
    def __init__(self, services: Services, peers: PeerApi) -> None:
        self._services = services
        self._tasks: set[asyncio.Task[None]] = set()
        self.produce = ProduceApi(services)
        self.fetch = FetchApi(services)
        self._hot: dict[int, HotHandler] = {PRODUCE: self.produce.serve, FETCH: self.fetch.serve, **peers.handlers()}
        self._handlers: dict[int, Handler] = {
            api_versions.KEY: cluster.api_versions,
            metadata_message.KEY: metadata.metadata,
            list_offsets.KEY: offsets.list_offsets,
            offset_for_leader_epoch.KEY: offsets.offset_for_leader_epoch,
            create_topics.KEY: topics.create_topics,
            delete_topics.KEY: topics.delete_topics,
            create_partitions.KEY: topics.create_partitions,
            elect_leaders.KEY: topics.elect_leaders,
            describe_configs.KEY: configs.describe_configs,
            incremental_alter_configs.KEY: configs.incremental_alter_configs,
            describe_cluster.KEY: metadata.describe_cluster,
            describe_topic_partitions.KEY: metadata.describe_topic_partitions,
            describe_quorum.KEY: peers.describe_quorum,
            find_coordinator.KEY: cluster.find_coordinator,
            init_producer_id.KEY: ProducerIds().init_producer_id,
        }
        assert set(self._handlers) | {PRODUCE, FETCH} == set(APIS), "every advertised API has a handler"

    def serve(self, frame: memoryview, exchange: Exchange) -> bool:
        """Whether there will be an answer."""
        try:
            header = parse_request_header(frame)
            hot = self._hot.get(header.api_key)
            if hot is not None:
                api = APIS.get(header.api_key)
                if api is not None and not api.serves(header.api_version):
                    raise MalformedRequest(f"{api.name} has no version {header.api_version}")
                return hot(frame, header, exchange)
            return self._serve(frame, header, exchange)
        except MalformedRequest as problem:
            exchange.refuse(str(problem))
        except Exception as problem:
            self._failed(problem)
            exchange.refuse("an error of our own")
        return False

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _serve(self, frame: memoryview, header: RequestHeader, exchange: Exchange) -> bool:
        api = APIS.get(header.api_key)
        if api is None:
            raise MalformedRequest(f"there is no API {header.api_key}")
        version = header.api_version
        if not api.serves(version):
            if api.key != API_VERSIONS:
                raise MalformedRequest(f"{api.name} has no version {version}")
            exchange.reply(
                [frame_response(api.key, 0, header.correlation_id, encode(api_versions.unsupported_version_response(), 0, False))]
            )
            return True
        assert api.request is not None
        request: object = decode(api.request, version, api.is_flexible(version), Reader(frame, header.body_position))
        if self._services.caught_up.is_set() or api.key in NEED_NO_IMAGE:
            answer = self._handlers[api.key](self._services, request, version)
        else:
            answer = self._once_caught_up(api, request, version)
        if inspect.iscoroutine(answer):
            task = self._services.loop.create_task(self._answer_later(api, header, exchange, answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _task: answer.close())
        else:
            exchange.reply([_encode(api, header, answer)])
        return True

    async def _once_caught_up(self, api: Api, request: object, version: int) -> Any:
        await self._services.caught_up.wait()
        answer = self._handlers[api.key](self._services, request, version)
        return await answer if inspect.iscoroutine(answer) else answer

    async def _answer_later(self, api: Api, header: RequestHeader, exchange: Exchange, answer: Any) -> None:
        try:
            response = _encode(api, header, await answer)
        except asyncio.CancelledError:
            raise
        except Exception as problem:
            self._failed(problem)
            exchange.refuse("an error of our own")
            return
        if not exchange.closed:
            exchange.reply([response])

    def _failed(self, problem: Exception) -> None:
        self._services.machine.journal.failure("request-failed", problem)


def _encode(api: Api, header: RequestHeader, response: object) -> bytes:
    version = header.api_version
    return frame_response(api.key, version, header.correlation_id, encode(response, version, api.is_flexible(version)))
