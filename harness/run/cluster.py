"""What a run needs of the cluster under test, whoever started its brokers.

One is deployed for the run (`deployment`), the other is somebody else's and only visited (`visit`). The difference is what they can
do: brokers we did not start cannot be struck, watched, stopped or looked into, and the methods for it have nothing to give.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from harness.run.client_node import ClientNode
from harness.run.leader_watch import LeaderWatch
from harness.run.prepared import Prepared
from harness.scenarios import Scenario
from harness.systems.replica_files import LogSpan
from nemesis.nemesis import Nemesis

Place = tuple[str, int]


class Cluster(Protocol):
    """From `start` until `close`, after which nothing of the run is left there."""

    topics: tuple[tuple[str, int], ...]  # name and number of partitions of each
    client: ClientNode
    our_clock: frozenset[str]  # nodes whose monotonic clock is ours

    @property
    def bootstrap(self) -> str: ...

    def start(self, prepared: Prepared) -> None:
        """Until every partition can be written to."""

    def nemesis(self, seed: int) -> Nemesis | None: ...

    def watch_leaders(self) -> LeaderWatch | None: ...

    def look(self) -> dict[Place, LogSpan] | str:
        """Where each partition starts and ends, if it is at rest; else what keeps one from it."""

    def stop_and_dump(self, run: Path, value_of: Callable[[bytes], int | None], tell: Callable[[str], None]) -> None:
        """Stop the brokers, and write every replica's log into the run's files."""

    def collect_logs(self, folder: Path) -> None: ...

    def close(self) -> None: ...


def topic_names(scenario: Scenario, prefix: str = "") -> tuple[tuple[str, int], ...]:
    return tuple((f"{prefix}t{number}", scenario.topics.partitions) for number in range(1, scenario.topics.count + 1))


def topic_settings(scenario: Scenario) -> dict[str, str]:
    topics = scenario.topics
    return {"min.insync.replicas": str(topics.min_insync), "unclean.leader.election.enable": str(topics.unclean).lower()}


def places_of(topics: tuple[tuple[str, int], ...]) -> set[Place]:
    return {(name, part) for name, parts in topics for part in range(parts)}
