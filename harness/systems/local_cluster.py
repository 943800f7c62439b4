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
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.errors import EnvironmentFault, UserMistake
from harness.systems.cluster_plan import (
    MAX_NODES,
    ClusterPlan,
    NodePlan,
    Setting,
    as_toml,
    broker_settings,
    decode_state,
    encode_state,
    make_plan,
)
from harness.systems.free_ports import free_ports, ports_in_use
from harness.systems.health import Health, ask_health
from harness.systems.process import ProcessName, tied_to_this_process

ROOT = Path(__file__).resolve().parents[2]
BROKER = (sys.executable, "-m", "broker_impl")
READY_TIMEOUT = 60.0
STOP_TIMEOUT = 30.0


class LocalCluster:
    """Invariant: `_processes` names the process last started for a node, until it was seen to have ended by our own hand."""

    def __init__(self, directory: Path, plan: ClusterPlan, processes: Mapping[int, ProcessName], command: Sequence[str] | None) -> None:
        self.directory = directory
        self.plan = plan
        self._processes = dict(processes)
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._log_starts: dict[int, int] = {}
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
        cluster = cls(directory, make_plan(ports, _ports_beside(ports)), {}, command)
        for node in cluster.plan.nodes:
            home = cluster._home(node.id)
            home.mkdir(parents=True)
            (home / "broker.toml").write_text(as_toml(broker_settings(cluster.plan, node, str(home / "data")) | dict(settings or {})))
        cluster._save()
        return cluster

    @classmethod
    def open(cls, directory: Path, *, command: Sequence[str] | None = None) -> LocalCluster:
        """The cluster that lies in the directory, running or not."""
        directory = directory.resolve()
        try:
            plan, processes = decode_state((directory / "cluster.json").read_text())
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

    # What it is

    @property
    def ids(self) -> list[int]:
        return [node.id for node in self.plan.nodes]

    @property
    def bootstrap(self) -> str:
        return self.plan.bootstrap

    def log_path(self, node: int) -> Path:
        return self._home(node) / "broker.log"

    def data_path(self, node: int) -> Path:
        return self._home(node) / "data"

    def pid(self, node: int) -> int | None:
        """Of the process last started, whether it lives or not."""
        return self._processes[node].pid if node in self._processes else None

    def alive(self, node: int) -> bool:
        self._reap(node)
        return node in self._processes and self._processes[node].alive()

    def exit_code(self, node: int) -> int | None:
        """Of a broker this very process started and that has ended; negative: the signal that ended it."""
        return self._children[node].poll() if node in self._children else None

    def health(self, node: int) -> Health | None:
        return ask_health(self._plan_of(node).http_port)

    def controller(self) -> int | None:
        """In the words of the live broker that has read furthest in the metadata."""
        answers = [answer for node in self.ids if self.alive(node) and (answer := self.health(node)) and answer.controller is not None]
        return max(answers, key=lambda answer: answer.metadata_offset).controller if answers else None

    # The whole

    def start(self, *, detached: bool = False) -> None:
        """Start every broker; `wait_ready` tells when they serve. From the thread that outlives them (see `process`), unless detached."""
        self._detached = detached
        with self._alone():
            running = [node for node in self.ids if self.alive(node)]
            if running:
                raise UserMistake(f"the cluster in {self.directory} is already running; `cluster down --data {self.directory}` stops it")
            taken = ports_in_use([port for node in self.plan.nodes for port in (node.port, node.http_port)])
            if taken:
                raise EnvironmentFault(f"port {taken[0]} is in use; stop what holds it, or make a cluster elsewhere with --port and --data")
            for node in self.ids:
                self._launch(node)

    def wait_ready(self, timeout: float = READY_TIMEOUT, nodes: Sequence[int] | None = None) -> None:
        """Return once every one of the nodes (default: all) runs and knows a controller."""
        waiting = list(self.ids if nodes is None else nodes)
        deadline = time.monotonic() + timeout
        while waiting:
            for node in list(waiting):
                if not self.alive(node):
                    raise EnvironmentFault(f"node {node} ended while starting: {self._last_words(node)} (all of it: {self.log_path(node)})")
                health = self.health(node)
                if health is not None and health.ready:
                    waiting.remove(node)
            if waiting and time.monotonic() > deadline:
                states = ", ".join(f"node {node}: {health.state if (health := self.health(node)) else 'no answer'}" for node in waiting)
                raise EnvironmentFault(f"not ready after {timeout:.0f} s ({states}); see {self.log_path(waiting[0])}")
            if waiting:
                time.sleep(0.05)

    def stop(self, timeout: float = STOP_TIMEOUT) -> list[int]:
        """Stop every broker cleanly, all at once; those that do not end in time are killed and returned."""
        return self._stop(self.ids, timeout)

    # One node

    def start_node(self, node: int) -> None:
        if self.alive(node):
            raise UserMistake(f"node {node} is already running")
        self._launch(node)

    def stop_node(self, node: int, timeout: float = STOP_TIMEOUT) -> bool:
        """Whether it ended cleanly in time, without being killed."""
        return not self._stop([node], timeout)

    def kill(self, node: int) -> None:
        """As kill -9; returns when it has ended."""
        self._signal(node, signal.SIGKILL)
        self._ended(node, STOP_TIMEOUT)

    def pause(self, node: int) -> None:
        """As kill -STOP: it holds its connections and says nothing."""
        self._signal(node, signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._signal(node, signal.SIGCONT)

    def restart(self, node: int) -> None:
        self.stop_node(node)
        self.start_node(node)

    # How

    def _launch(self, node: int) -> None:
        home = self._home(node)
        with open(self.log_path(node), "ab") as log:
            self._log_starts[node] = log.tell()
            command = [*self._command, "--config", str(home / "broker.toml")]
            child = subprocess.Popen(
                command if self._detached else tied_to_this_process(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
            )
        self._children[node] = child
        self._processes[node] = ProcessName.of(child.pid)
        self._save()

    def _stop(self, nodes: Sequence[int], timeout: float) -> list[int]:
        deadline = time.monotonic() + timeout
        for node in nodes:
            self._signal(node, signal.SIGTERM)
            self._signal(node, signal.SIGCONT)
        stubborn = [node for node in nodes if not self._ended(node, deadline - time.monotonic())]
        for node in stubborn:
            self.kill(node)
        for node in nodes:
            self._processes.pop(node, None)
        self._save()
        return stubborn

    def _kill_all(self) -> None:
        for node in self.ids:
            self._signal(node, signal.SIGKILL)
        self._stop(self.ids, STOP_TIMEOUT)

    def _signal(self, node: int, number: signal.Signals) -> None:
        self._plan_of(node)
        if node in self._processes:
            self._processes[node].send(number)

    def _ended(self, node: int, timeout: float) -> bool:
        ended = node not in self._processes or self._processes[node].wait(max(timeout, 0.0))
        self._reap(node)
        return ended

    def _reap(self, node: int) -> None:
        if node in self._children:
            self._children[node].poll()

    def _last_words(self, node: int) -> str:
        with open(self.log_path(node), "rb") as log:
            log.seek(self._log_starts.get(node, 0))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else f"without a word, exit code {self.exit_code(node)}"

    def _plan_of(self, node: int) -> NodePlan:
        if node not in self.ids:
            raise UserMistake(f"there is no node {node}; the cluster has nodes 1 to {len(self.ids)}")
        return self.plan.nodes[node - 1]

    def _home(self, node: int) -> Path:
        return self.directory / f"node-{node}"

    def _save(self) -> None:
        new = self.directory / "cluster.json.new"
        new.write_text(encode_state(self.plan, self._processes))
        os.replace(new, self.directory / "cluster.json")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with open(self.directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._processes = decode_state((self.directory / "cluster.json").read_text())[1]
            yield


def _ports_beside(ports: Sequence[int]) -> list[int]:
    """Free ports for HTTP that are none of the brokers' own."""
    spare = free_ports(2 * len(ports))
    return [port for port in spare if port not in ports][: len(ports)]
