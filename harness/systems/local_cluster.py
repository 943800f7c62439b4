"""A cluster of brokers as processes on this machine's loopback: for playing, for tests and for measuring.

Everything about it lies in one directory: `cluster.json` (plan and processes) and, for each node, its settings, its log lines and its data.
So any later command, or a test, opens the directory and finds the same cluster, running or not. Brokers end with the process that
started them, however that ends, unless the cluster is detached.

The traps: a signal may only reach the process that was meant (see `process`), a paused broker must be let go on before it can end, and
a broker that ends while the cluster starts must be shown with its own words instead of a time-out.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.errors import EnvironmentFault, UserMistake
from harness.systems import cluster_plan
from harness.systems.cluster_plan import MAX_NODES, ClusterPlan, Setting
from harness.systems.free_ports import free_ports, ports_in_use
from harness.systems.health import Health
from harness.systems.local_node import LocalNode
from harness.systems.process import ProcessName

BROKER: tuple[str, ...] = (sys.executable, "-m", "broker_impl")
READY_TIMEOUT = 60.0
STOP_TIMEOUT = 30.0


class LocalCluster:
    """Invariant: `cluster.json` names every process this object has started and not yet seen stopped."""

    def __init__(self, directory: Path, plan: ClusterPlan, processes: Mapping[int, ProcessName], command: Sequence[str] | None) -> None:
        self.directory = directory
        self.plan = plan
        self._nodes = {node.id: LocalNode(node, directory / f"node-{node.id}", processes.get(node.id)) for node in plan.nodes}
        self._command = tuple(command or BROKER)
        self._detached = False

    @classmethod
    def create(
        cls,
        directory: Path,
        nodes: int,
        *,
        port: int = 0,
        settings: Mapping[str, Setting] | None = None,
        command: Sequence[str] | None = None,
    ) -> LocalCluster:
        """A new cluster in a directory that is empty or not there yet. Port 0: free ports; `settings`: every broker's, by Kafka's names."""
        if not 1 <= nodes <= MAX_NODES:
            raise UserMistake(f"a cluster has 1 to {MAX_NODES} nodes, not {nodes}")
        if port and not 1 <= port <= 65_536 - nodes:
            raise UserMistake(f"ports {port} to {port + nodes - 1} do not exist; choose --port between 1 and {65_536 - nodes}")
        directory = directory.resolve()
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise UserMistake(f"{directory} is not empty and holds no cluster; choose another directory")
        ports = list(range(port, port + nodes)) if port else free_ports(nodes)
        _require_free(ports)
        cluster = cls(directory, cluster_plan.make_plan(ports, _ports_beside(ports)), {}, command)
        for node in cluster._nodes.values():
            node.settings_path.parent.mkdir(parents=True)
            own = cluster_plan.broker_settings(cluster.plan, node.plan, str(node.data_path)) | dict(settings or {})
            node.settings_path.write_text(cluster_plan.as_toml(own))
        cluster._save()
        return cluster

    @classmethod
    def open(cls, directory: Path, *, command: Sequence[str] | None = None) -> LocalCluster:
        """The cluster that lies in the directory, running or not."""
        directory = directory.resolve()
        try:
            plan, processes = cluster_plan.decode_state((directory / "cluster.json").read_text())
        except (FileNotFoundError, NotADirectoryError):
            raise UserMistake(f"{directory} holds no cluster; `./highwater cluster up --data {directory}` makes one") from None
        except (ValueError, KeyError, TypeError) as problem:
            raise EnvironmentFault(f"{directory / 'cluster.json'} cannot be read ({problem}); remove {directory} and start anew") from None
        return cls(directory, plan, processes, command)

    def __enter__(self) -> Self:
        """Started and ready; stopped cleanly at the end, or at once where an exception ends it."""
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        else:
            self._kill_all()

    @property
    def ids(self) -> list[int]:
        return list(self._nodes)

    @property
    def bootstrap(self) -> str:
        return self.plan.bootstrap

    def log_path(self, node: int) -> Path:
        return self._node(node).log_path

    def data_path(self, node: int) -> Path:
        return self._node(node).data_path

    def pid(self, node: int) -> int | None:
        """Of the process last started, whether it lives or not; none after it was stopped."""
        process = self._node(node).process
        return process.pid if process else None

    def alive(self, node: int) -> bool:
        return self._node(node).alive()

    def exit_code(self, node: int) -> int | None:
        """Of a broker this very process started and that has ended; negative: the signal that ended it."""
        return self._node(node).exit_code()

    def health(self, node: int) -> Health | None:
        return self._node(node).health()

    def controller(self) -> int | None:
        """In the words of the live broker that has read furthest in the metadata."""
        answers = [answer for node in self._nodes.values() if node.alive() and (answer := node.health())]
        return max(answers, key=lambda answer: (answer.controller is not None, answer.metadata_offset)).controller if answers else None

    def start(self, *, detached: bool = False) -> None:
        """Start every broker; `wait_ready` tells when they serve. From the thread that outlives them (see `process`), unless detached."""
        with self._alone():
            if any(node.alive() for node in self._nodes.values()):
                raise UserMistake(f"the cluster in {self.directory} is already running; `cluster down --data {self.directory}` stops it")
            _require_free([port for node in self.plan.nodes for port in (node.port, node.http_port)])
            self._detached = detached
            for node in self.ids:
                self.start_node(node)

    def wait_ready(self, timeout: float = READY_TIMEOUT, nodes: Sequence[int] | None = None) -> None:
        """Return once every one of the nodes (default: all) runs and knows a controller."""
        deadline = time.monotonic() + timeout
        waiting = [self._node(node) for node in (self.ids if nodes is None else nodes)]
        while waiting := [node for node in waiting if not _is_ready(node)]:
            if time.monotonic() > deadline:
                states = ", ".join(f"node {node.plan.id}: {health.state if (health := node.health()) else 'no answer'}" for node in waiting)
                raise EnvironmentFault(f"not ready after {timeout:.0f} s ({states}); see {waiting[0].log_path}")
            time.sleep(0.05)

    def stop(self, timeout: float = STOP_TIMEOUT) -> list[int]:
        """Stop every broker cleanly, all at once; those that do not end in time are killed and returned."""
        return self._stop(self.ids, timeout)

    def start_node(self, node: int) -> None:
        if self.alive(node):
            raise UserMistake(f"node {node} is already running")
        self._node(node).start(self._command, detached=self._detached)
        self._save()

    def stop_node(self, node: int, timeout: float = STOP_TIMEOUT) -> bool:
        """Whether it ended cleanly in time, without being killed."""
        return not self._stop([node], timeout)

    def kill(self, node: int) -> None:
        """As kill -9; returns when it has ended."""
        self._node(node).signal(signal.SIGKILL)
        self._node(node).ended(STOP_TIMEOUT)

    def pause(self, node: int) -> None:
        """As kill -STOP: it holds its connections and says nothing."""
        self._node(node).signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._node(node).signal(signal.SIGCONT)

    def restart(self, node: int) -> None:
        self.stop_node(node)
        self.start_node(node)

    def _stop(self, ids: Sequence[int], timeout: float) -> list[int]:
        deadline = time.monotonic() + timeout
        for node in ids:
            self._node(node).signal(signal.SIGTERM)
            self._node(node).signal(signal.SIGCONT)
        stubborn = [node for node in ids if not self._node(node).ended(deadline - time.monotonic())]
        for node in stubborn:
            self.kill(node)
        for node in ids:
            self._node(node).process = None
        self._save()
        return stubborn

    def _kill_all(self) -> None:
        for node in self._nodes.values():
            node.signal(signal.SIGKILL)
        self._stop(self.ids, STOP_TIMEOUT)

    def _node(self, node: int) -> LocalNode:
        if node not in self._nodes:
            raise UserMistake(f"there is no node {node}; the cluster has nodes 1 to {len(self._nodes)}")
        return self._nodes[node]

    def _save(self) -> None:
        processes = {id: node.process for id, node in self._nodes.items() if node.process}
        new = self.directory / "cluster.json.new"
        new.write_text(cluster_plan.encode_state(self.plan, processes))
        os.replace(new, self.directory / "cluster.json")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else starts this cluster, and with what the last one who did has left in the state file."""
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            processes = cluster_plan.decode_state((self.directory / "cluster.json").read_text())[1]
            for node in self._nodes.values():
                node.process = processes.get(node.plan.id)
            yield


def _is_ready(node: LocalNode) -> bool:
    if not node.alive():
        raise EnvironmentFault(f"node {node.plan.id} ended while starting: {node.last_words()} (all of it: {node.log_path})")
    health = node.health()
    return health is not None and health.ready


def _require_free(ports: Sequence[int]) -> None:
    taken = ports_in_use(ports)
    if taken:
        raise EnvironmentFault(f"port {taken[0]} is in use; stop what holds it, or make a cluster on others: --port 0 finds some")


def _ports_beside(ports: Sequence[int]) -> list[int]:
    """Free ports for HTTP that are none of the brokers' own."""
    spare = free_ports(2 * len(ports))
    return [port for port in spare if port not in ports][: len(ports)]
