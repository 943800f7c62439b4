"""A cluster to be measured: a system on nodes of its own, its processes watched from outside, and what can be asked of it from a client.

Every contender has its own nodes and lives through the whole benchmark; while another is measured it is stopped with SIGSTOP, so that it
takes no CPU and keeps what it has compiled. The trap is what comes after: to the cluster the pause was an outage of everything at once.
Sessions have run out, leaders are elected anew, and only when every broker knows every other again, and goes on to, may it be measured.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.bench.driver import Outcome, Target, outcome_of
from harness.bench.side_by_side.contenders import ROOT, Contender
from harness.bench.side_by_side.on_nodes import AWAIT_BROKERS, DELETE_TOPIC, MAKE_TOPIC, READ_METRICS, READ_USAGE
from harness.bench.side_by_side.tools import Tools
from harness.bench.suites.case import Case, topic_settings
from harness.bench.usage import Cpu
from harness.errors import EnvironmentFault
from harness.nodes import create
from harness.systems.deployed_system import PORT
from harness.systems.highwater_system import HTTP_PORT
from harness.systems.system import Leadership

_SETTINGS = {"log.segment.delete.delay.ms": 100}
"""The defaults but for one: a deleted topic is gone before the next is measured. Kafka asks its brokers for this, not the topic."""
_SYNCS = "syncs"
_PATIENCE_S = 180.0
_CLIENT_PATIENCE_S = 600.0
_SETTLE_S = 1.5
"""How long brokers must go on knowing each other after a pause: sessions that ran out meanwhile are found within this."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of all brokers together since they started, but for memory: of each."""

    cpu: Cpu
    written: int
    fsyncs: int | None
    resident: tuple[int, ...]
    peak: tuple[int, ...]


class BenchCluster:
    """Invariant: its brokers run from `start` to `close`; between `pause` and `resume` they take no CPU."""

    def __init__(self, contender: Contender, nodes: int, folder: Path, tools: Tools) -> None:
        self.contender, self.tools, self.folder = contender, tools, folder
        self.paused = False
        self.nodes = create("namespaces", nodes, folder.name, folder)
        try:
            self.system = contender.create(self.nodes)
            self.system.install()
            self.system.configure(_SETTINGS)
            self.system.watch_with({node.name: self._preloaded(node.folder) for node in self.nodes.nodes})
        except BaseException:
            self.nodes.close()
            raise

    def close(self) -> None:
        self.nodes.close()

    def start(self) -> float:
        """Seconds until every broker knows all of them."""
        self.system.prepare()
        began = time.monotonic()
        for node in self.nodes.nodes:
            self.system.start_node(node.name)
        return self._await_brokers(0.0) - began

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self.paused = False
        self._await_brokers(_SETTLE_S)

    def make_topic(self, name: str, case: Case) -> dict[tuple[str, int], Leadership]:
        """Who leads it, when every partition has a leader and all its replicas."""
        asked = json.dumps([self.system.bootstrap, name, case.partitions, case.replicas, topic_settings(case), _PATIENCE_S])
        self._run_python(MAKE_TOPIC, asked, what=f"making topic {name}")
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            found = self.leadership(name)
            if len(found) == case.partitions and all(one.leader and set(one.isr) == set(one.replicas) for one in found.values()):
                return found
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"after {_PATIENCE_S:g} s not every partition of {name} has a leader and all its replicas")
            time.sleep(0.05)

    def drop_topic(self, name: str) -> None:
        """Returns when its files are gone: removing gigabytes takes time that the next measurement would pay for."""
        self._run_python(DELETE_TOPIC, json.dumps([self.system.bootstrap, name, _PATIENCE_S]), what=f"deleting topic {name}")
        deadline = time.monotonic() + _PATIENCE_S
        while any(True for node in self.nodes.nodes for _ in Path(self.system.data_path(node.name)).glob(f"{name}-*")):
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"the files of the deleted topic {name} are still there after {_PATIENCE_S:g} s")
            time.sleep(0.05)

    def leadership(self, topic: str) -> dict[tuple[str, int], Leadership]:
        return {place: one for place, one in self.system.leaders().items() if place[0] == topic}

    def target(self, topic: str, case: Case) -> Target:
        return Target(self.system.bootstrap, topic, case.partitions)

    def run_client(self, command: list[str]) -> Outcome:
        return outcome_of(json.loads(self._run(command, what="the benchmark's client")))

    def usage(self, *, reset_peaks: bool = False) -> Usage:
        numbers = [process.pid for node in self.nodes.nodes if (process := self.system.process(node.name))]
        found = json.loads(
            self._run([sys.executable, "-I", "-S", "-c", READ_USAGE, str(int(reset_peaks)), *map(str, numbers)], what="looking")
        )
        return Usage(
            Cpu(sum(one["user"] for one in found), sum(one["system"] for one in found)),
            sum(one["written"] for one in found),
            self._fsyncs(),
            tuple(one["resident"] for one in found),
            tuple(one["peak"] for one in found),
        )

    def messages_counted(self) -> int | None:
        """By the leaders of our own brokers since they started; others do not tell."""
        if self.contender.source is None:
            return None
        addresses = [f"{node.address}:{HTTP_PORT}" for node in self.nodes.nodes]
        said = self._run([sys.executable, "-I", "-S", "-c", READ_METRICS, *addresses], what="reading the brokers' metrics")
        return int(sum(page["produce_messages_total"] for page in json.loads(said)))

    def _fsyncs(self) -> int | None:
        if self.tools.sync_counter is None:
            return None
        total = 0
        for node in self.nodes.nodes:
            with suppress(FileNotFoundError):
                total += int.from_bytes(Path(node.folder, _SYNCS).read_bytes(), sys.byteorder)
        return total

    def _preloaded(self, folder: str) -> Mapping[str, str]:
        counter = self.tools.sync_counter
        return {"LD_PRELOAD": str(counter), "HIGHWATER_SYNCS": f"{folder}/{_SYNCS}"} if counter is not None else {}

    def _await_brokers(self, steady_s: float) -> float:
        """When every broker had known all of them for so long, in seconds of the monotonic clock."""
        addresses = [f"{node.address}:{PORT}" for node in self.nodes.nodes]
        said = self._run([sys.executable, "-I", "-S", "-c", AWAIT_BROKERS, str(steady_s), str(_PATIENCE_S), *addresses], what="waiting")
        return float(said)

    def _signal(self, number: signal.Signals) -> None:
        for node in self.nodes.nodes:
            process = self.system.process(node.name)
            if process is None or not node.signal(process, number):
                raise EnvironmentFault(f"the broker on node {node.name} of {self.contender.name} has ended")

    def _run_python(self, program: str, *arguments: str, what: str) -> bytes:
        return self._run([sys.executable, "-c", program, *arguments], what=what)

    def _run(self, command: list[str], *, what: str) -> bytes:
        done = self.nodes.client.run(command, timeout=_CLIENT_PATIENCE_S, cwd=str(ROOT))
        return done.require(f"{self.contender.name}: {what}")
