"""The cluster of a run: nodes, the system on them, and the topics under test.

Topics are made from the clients' node, since nothing else can reach the brokers. Partitions are under test only when each has a leader
and all its replicas: a run that begins on a cluster still coming up measures that.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import Nodes, create
from harness.run.client_node import ClientNode, clock_ahead
from harness.run.prepared import Prepared
from harness.run.refusals import needs_clock
from harness.scenarios import Scenario
from harness.systems.choosing import create_system
from harness.systems.system import System
from nemesis.fault import until

READY_TIMEOUT = 60.0

_MAKE_TOPICS = """
import json, sys
from confluent_kafka.admin import AdminClient, NewTopic
servers, names, partitions, replicas, settings, patience = json.loads(sys.argv[1])
admin = AdminClient({"bootstrap.servers": servers})
wanted = [NewTopic(name, partitions, replicas, config=settings) for name in names]
for name, made in admin.create_topics(wanted, operation_timeout=patience, request_timeout=patience).items():
    try:
        made.result()
    except Exception as problem:
        sys.exit(f"{name}: {problem}")
"""


class Deployment:
    """Invariant: while it is open, brokers and clients live in `nodes` and nowhere else."""

    def __init__(self, prepared: Prepared, run_id: str, work: Path) -> None:
        scenario = prepared.scenario
        self.topics = topic_names(scenario)
        self.our_clock: frozenset[str] = frozenset()
        """Nodes whose monotonic clock is ours."""
        self.nodes: Nodes = create(scenario.nodes_kind, scenario.nodes, run_id, work, inventory=_path(scenario.inventory))
        try:
            self.client = ClientNode(self.nodes.client)
            self.system: System = create_system(
                scenario.system, self.nodes, plugin=_path(scenario.plugin), kafka_home=_path(scenario.kafka_home)
            )
        except BaseException:
            self.nodes.close()
            raise

    def start(self, prepared: Prepared) -> None:
        """Until every partition can be written to."""
        self.our_clock = frozenset(node.name for node in self.nodes.nodes if clock_ahead(node) == 0)
        self.client.install()
        self.system.install()
        self.system.configure(prepared.scenario.broker, clock_faults=needs_clock(prepared))
        self.system.start()
        self._make_topics(prepared.scenario)

    @property
    def places(self) -> set[tuple[str, int]]:
        return {(name, part) for name, parts in self.topics for part in range(parts)}

    def close(self) -> None:
        self.nodes.close()

    def _make_topics(self, scenario: Scenario) -> None:
        topics = scenario.topics
        settings = {"min.insync.replicas": str(topics.min_insync), "unclean.leader.election.enable": str(topics.unclean).lower()}
        names = [name for name, _ in self.topics]
        asked = json.dumps([self.system.bootstrap, names, topics.partitions, topics.replicas, settings, READY_TIMEOUT])
        self.client.run_python(_MAKE_TOPICS, asked, timeout=2 * READY_TIMEOUT).require("making the topics")
        if not until(self._topics_ready, READY_TIMEOUT):
            raise EnvironmentFault(
                f"after {READY_TIMEOUT:g} s not every new partition has a leader and all its replicas; is the disk slow?"
            )

    def _topics_ready(self) -> bool:
        found = self.system.leaders()
        return all(
            place in found and found[place].leader is not None and set(found[place].isr) == set(found[place].replicas)
            for place in self.places
        )


def topic_names(scenario: Scenario) -> tuple[tuple[str, int], ...]:
    """Name and number of partitions of each."""
    return tuple((f"t{number}", scenario.topics.partitions) for number in range(1, scenario.topics.count + 1))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
