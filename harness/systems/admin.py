"""What an operator asks a running cluster over Kafka's own protocol: topics, their partitions, elections.

kafka-python is used because it hands out leader epochs; it is heavy, so this module is imported only by what needs it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import ElectionNotNeededError, KafkaError, NoError, UnknownTopicOrPartitionError, for_code

from harness.errors import EnvironmentFault, UserMistake

_PREFERRED = 0


@dataclass(frozen=True, slots=True)
class PartitionState:
    topic: str
    partition: int
    leader: int
    epoch: int
    replicas: list[int]
    isr: list[int]


class Admin:
    """A connection to a running cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def partitions(self) -> list[PartitionState]:
        """Every partition of every topic, in order; leader -1 where there is none."""
        states = [
            PartitionState(
                topic["name"],
                partition["partition_index"],
                partition["leader_id"],
                partition["leader_epoch"],
                list(partition["replica_nodes"]),
                list(partition["isr_nodes"]),
            )
            for topic in self._client.describe_topics()
            for partition in topic["partitions"]
        ]
        return sorted(states, key=lambda state: (state.topic, state.partition))

    def create_topic(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> None:
        """-1 partitions or replicas: the cluster's default."""
        options = {"num_partitions": partitions, "replication_factor": replicas, "configs": dict(settings)}
        answer = self._client.create_topics({name: options}, raise_errors=False)
        for topic in answer["topics"]:
            _check(topic["error_code"], topic.get("error_message"), f"topic {name} was not created")

    def delete_topic(self, name: str) -> None:
        answer = self._client.delete_topics([name], raise_errors=False)
        for topic in answer["topics"]:
            _check(topic["error_code"], topic.get("error_message"), f"topic {name} was not deleted")

    def elect_preferred(self, topics: Sequence[str]) -> None:
        """Give leadership back to the first replica of every partition (of these topics, or of all)."""
        chosen: dict[str, list[int]] = {}
        for state in self.partitions():
            if not topics or state.topic in topics:
                chosen.setdefault(state.topic, []).append(state.partition)
        unknown = [topic for topic in topics if topic not in chosen]
        if unknown:
            raise UserMistake(f"there is no topic {unknown[0]}")
        if not chosen:
            return
        answer = self._client.elect_leaders(_PREFERRED, chosen, raise_errors=False)
        _check(answer.error_code, None, "no leader was elected")
        for topic in answer.replica_election_results:
            for partition in topic.partition_result:
                _check(partition.error_code, partition.error_message, f"{topic.topic}-{partition.partition_id} keeps its leader")


@contextmanager
def connect(bootstrap: str, timeout: float = 10.0) -> Iterator[Admin]:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    limits = {"bootstrap_timeout_ms": int(timeout * 1000), "request_timeout_ms": int(timeout * 1000)}
    try:
        client = KafkaAdminClient(bootstrap_servers=bootstrap.split(","), client_id="highwater-cli", **limits)
    except KafkaError as problem:
        raise EnvironmentFault(f"no broker of {bootstrap} answers ({problem}); is the cluster running? `cluster status` tells") from problem
    try:
        yield Admin(client)
    except (KafkaError, RuntimeError) as problem:
        raise EnvironmentFault(f"the cluster did not answer: {problem}") from problem
    finally:
        client.close()


def _check(code: int, message: str | None, what: str) -> None:
    """A refusal is the user's to mend by asking for something else; what a broker would do later is not."""
    kind = for_code(code)
    if kind in (NoError, ElectionNotNeededError):
        return
    text = f"{what}: {message or kind.description} ({kind.message})"
    later = kind.retriable and kind is not UnknownTopicOrPartitionError
    raise EnvironmentFault(f"{text}; try again") if later else UserMistake(text)
