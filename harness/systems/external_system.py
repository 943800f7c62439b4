"""A cluster somebody else runs: its bootstrap servers are known and nothing more, so nothing of it can be started, stopped or broken.

It is not a `System`: that a broker cannot be killed is said by the type, not by methods that refuse. What any client may do is here:
make topics, look at partitions, and take away again what was made.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from harness.errors import EnvironmentFault

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_PATIENCE = 60.0
_KNOCK_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class PartitionFound:
    """As the brokers tell it: no leader where there is none now; from the first offset to the high watermark."""

    leader: int | None
    replicas: frozenset[int]
    isr: frozenset[int]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ExternalSystem:
    name: ClassVar = "external"
    servers: tuple[str, ...]

    @classmethod
    def at(cls, servers: Sequence[str]) -> ExternalSystem:
        assert servers, "the scenario names one server at least"
        return cls(tuple(servers))

    @property
    def bootstrap(self) -> str:
        return ",".join(self.servers)

    def silence(self) -> str | None:
        """Why nobody can be spoken to there; nothing if somebody takes a connection."""
        reasons = []
        for server in self.servers:
            host, _, port = server.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), _KNOCK_PATIENCE).close()
                return None
            except OSError as problem:
                reasons.append(f"{server}: {problem.strerror or problem}")
        return f"no broker answers ({'; '.join(reasons)})"

    def create_topics(self, names: Sequence[str], partitions: int, replicas: int, settings: Mapping[str, str]) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.cimpl import NewTopic

        admin, wanted = self._admin(), [NewTopic(name, partitions, replicas, config=dict(settings)) for name in names]
        for name, made in admin.create_topics(wanted, operation_timeout=_PATIENCE, request_timeout=_PATIENCE).items():
            try:
                made.result()
            except KafkaException as problem:
                raise EnvironmentFault(f"topic {name} cannot be made at {self.bootstrap}: {problem.args[0].str()}") from None

    def delete_topics(self, names: Collection[str]) -> None:
        """Those that are there."""
        from confluent_kafka import KafkaError, KafkaException

        if not names:
            return
        admin = self._admin()
        for name, gone in admin.delete_topics(list(names), operation_timeout=_PATIENCE, request_timeout=_PATIENCE).items():
            try:
                gone.result()
            except KafkaException as problem:
                if problem.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise EnvironmentFault(f"topic {name} stays at {self.bootstrap}: {problem.args[0].str()}") from None

    def partitions(self, topics: Collection[str]) -> dict[tuple[str, int], PartitionFound]:
        """Those the brokers tell of now. Raises EnvironmentFault where they do not answer."""
        from confluent_kafka import KafkaException, TopicPartition
        from confluent_kafka.admin._listoffsets import OffsetSpec

        try:
            admin = self._admin()
            known = {name: found.partitions for name, found in admin.list_topics(timeout=_PATIENCE).topics.items() if name in topics}
            places = [(name, number) for name, parts in known.items() for number in parts]
            spans: dict[tuple[str, int], list[int]] = {}
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
                asked = admin.list_offsets({TopicPartition(*place): spec for place in places}, request_timeout=_PATIENCE) if places else {}
                for place, answer in asked.items():
                    spans.setdefault((place.topic, place.partition), []).append(answer.result().offset)
        except KafkaException as problem:
            raise EnvironmentFault(f"the brokers at {self.bootstrap} do not answer: {problem.args[0].str()}") from None
        return {
            (name, number): PartitionFound(
                part.leader if part.leader >= 0 else None, frozenset(part.replicas), frozenset(part.isrs), *spans[name, number]
            )
            for name, parts in known.items()
            for number, part in parts.items()
        }

    def topics_called(self, prefix: str) -> list[str]:
        return sorted(name for name in self._admin().list_topics(timeout=_PATIENCE).topics if name.startswith(prefix))

    def _admin(self) -> AdminClient:
        """To be kept until the last answer is there. Its complaints go nowhere: what matters is raised."""
        import logging

        from confluent_kafka.admin import AdminClient

        silent = logging.Logger("admin")
        silent.addHandler(logging.NullHandler())
        return AdminClient({"bootstrap.servers": self.bootstrap}, logger=silent)
