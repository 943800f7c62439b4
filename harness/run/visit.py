"""A cluster that somebody else runs: a run comes with clients and topics of its own, and takes both away again.

Clients run on this machine, from where the brokers can be reached. Topics carry the run's id, so that two runs do not meet, and so that
`clean` finds what a run left whose harness was killed. No fault can be given, and no log can be looked into: a partition is at rest when
it has a leader and a full ISR and two looks find the same end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes.this_machine import ThisMachine
from harness.run.client_node import ClientNode
from harness.run.cluster import Place, places_of, topic_names, topic_settings
from harness.run.prepared import Prepared
from harness.scenarios import Scenario
from harness.systems.external_system import ExternalSystem
from harness.systems.replica_files import LogSpan
from nemesis.fault import until

READY_TIMEOUT = 60.0


class Visit:
    def __init__(self, scenario: Scenario, run_id: str, work: Path) -> None:
        self._machine = ThisMachine(work / ThisMachine.name)
        self._system = ExternalSystem.at(scenario.bootstrap)
        self.client = ClientNode(self._machine)
        self.topics = topic_names(scenario, _prefix(run_id))
        self.our_clock: frozenset[str] = frozenset()

    def start(self, prepared: Prepared) -> None:
        topics = prepared.scenario.topics
        settings = topic_settings(prepared.scenario) | {"retention.ms": "-1"}
        self._system.create_topics([name for name, _ in self.topics], topics.partitions, topics.replicas, settings)
        if not until(lambda: isinstance(self.look(), dict), READY_TIMEOUT):
            raise EnvironmentFault(f"after {READY_TIMEOUT:g} s {self.look()}; are all brokers at {self.bootstrap} up?")

    @property
    def bootstrap(self) -> str:
        return self._system.bootstrap

    def nemesis(self, seed: int) -> None:
        return None

    def watch_leaders(self) -> None:
        return None

    def look(self) -> dict[Place, LogSpan] | str:
        try:
            found = self._system.partitions([name for name, _ in self.topics])
        except EnvironmentFault as problem:
            return str(problem)
        for place in sorted(places_of(self.topics)):
            name, state = f"{place[0]}-{place[1]}", found.get(place)
            if state is None or state.leader is None:
                return f"{name} has no leader"
            if missing := state.replicas - state.isr:
                return f"{name} has no full ISR: broker {', '.join(map(str, sorted(missing)))} missing"
        return {place: LogSpan(state.start, state.end) for place, state in found.items()}

    def stop_and_dump(self, run: Path, value_of: Callable[[bytes], int | None], tell: Callable[[str], None]) -> None:
        tell("none: the brokers are not ours to stop or to look into")

    def collect_logs(self, folder: Path) -> None:
        """Those of the brokers are not ours."""

    def close(self) -> None:
        self._machine.close()
        self._system.delete_topics([name for name, _ in self.topics])


def take_topics_away(servers: list[str], run_id: str) -> None:
    """What a run left whose harness was killed."""
    system = ExternalSystem.at(servers)
    if reason := system.silence():
        raise EnvironmentFault(reason)
    system.delete_topics(system.topics_called(_prefix(run_id)))


def _prefix(run_id: str) -> str:
    return f"highwater-{run_id}-"
