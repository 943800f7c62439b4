"""A cluster deployed for a run: nodes, the system on them, and the topics under test.

Topics are made from the clients' node, since nothing else can reach the brokers. Partitions are under test only when each has a leader
and all its replicas: a run that begins on a cluster still coming up measures that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import Nodes, create
from harness.run.client_node import ClientNode, clock_ahead
from harness.run.cluster import Place, places_of, topic_names, topic_settings
from harness.run.final_phase import dump_replicas, look, stop_brokers
from harness.run.leader_watch import LeaderWatch
from harness.run.prepared import Prepared
from harness.run.refusals import needs_clock
from harness.scenarios import Scenario
from harness.systems.choosing import create_system
from harness.systems.replica_files import LogSpan
from harness.systems.system import System
from nemesis.fault import until
from nemesis.nemesis import Nemesis

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
        self.our_clock = frozenset(node.name for node in self.nodes.nodes if clock_ahead(node) == 0)
        self.client.install()
        self.system.install()
        self.system.configure(prepared.scenario.broker, clock_faults=needs_clock(prepared))
        self.system.start()
        self._make_topics(prepared.scenario)

    @property
    def bootstrap(self) -> str:
        return self.system.bootstrap

    def nemesis(self, seed: int) -> Nemesis:
        return Nemesis(self.nodes, self.system, seed, [name for name, _ in self.topics])

    def watch_leaders(self) -> LeaderWatch:
        return LeaderWatch(self.system)

    def look(self) -> dict[Place, LogSpan] | str:
        return look(self.system, self.nodes, places_of(self.topics))

    def stop_and_dump(self, run: Path, value_of: Callable[[bytes], int | None], tell: Callable[[str], None]) -> None:
        for node in stop_brokers(self.system, self.nodes):
            tell(f"the broker on {node} did not stop in time and was killed")
        records = dump_replicas(self.system, run, {name for name, _ in self.topics}, value_of)
        tell(f"{records:,} records in the replicas' logs")

    def collect_logs(self, folder: Path) -> None:
        self.system.collect_logs(folder)

    def close(self) -> None:
        self.nodes.close()

    def _make_topics(self, scenario: Scenario) -> None:
        names, topics = [name for name, _ in self.topics], scenario.topics
        asked = json.dumps([self.bootstrap, names, topics.partitions, topics.replicas, topic_settings(scenario), READY_TIMEOUT])
        self.client.run_python(_MAKE_TOPICS, asked, timeout=2 * READY_TIMEOUT).require("making the topics")
        if not until(self._topics_ready, READY_TIMEOUT):
            raise EnvironmentFault(
                f"after {READY_TIMEOUT:g} s not every new partition has a leader and all its replicas; is the disk slow?"
            )

    def _topics_ready(self) -> bool:
        found = self.system.leaders()
        return all(
            place in found and found[place].leader is not None and set(found[place].isr) == set(found[place].replicas)
            for place in places_of(self.topics)
        )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
