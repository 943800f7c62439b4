"""What all brokers that we put on nodes have in common: their processes, what they say, their files, and who leads by their own words.

Two traps. A broker is asked on its own node, because between the nodes there may be a cut. And a broker that was started again is
another process: everything that was known of the old one is forgotten under a lock before the new one can be seen.
"""

from __future__ import annotations

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, TypeVar

from harness.errors import EnvironmentFault
from harness.nodes import Node, Nodes, Process
from harness.systems import broker_questions as questions
from harness.systems.clock_file import put_clock_off
from harness.systems.cluster_plan import controllers_of
from harness.systems.log_dump import read_replica
from harness.systems.replica_files import high_watermarks, list_replicas
from harness.systems.system import START_TIMEOUT, STOP_TIMEOUT, ClockError, Leadership, ReplicaLog, Seen, Setting

PORT = 9092
LOG = "broker.log"
_DATA = "data"
_KILL_TIMEOUT = 30.0
_POLL = 0.2
_T = TypeVar("_T")


class DeployedSystem(ABC):
    """Invariant: `_processes` holds each node's process from its start until we have stopped or killed it."""

    name: str
    ports: tuple[int, ...]
    start_timeout: float = START_TIMEOUT
    settings_file: ClassVar[str]
    internal_topics: ClassVar[frozenset[str]] = frozenset()  # kept by the system for itself, and shown to nobody

    def __init__(self, nodes: Nodes) -> None:
        self._nodes: dict[str, Node] = {node.name: node for node in nodes.nodes}
        self._names = {number: name for number, name in enumerate(self._nodes, start=1)}
        self.bootstrap = ",".join(f"{node.address}:{PORT}" for node in self._nodes.values())
        self._processes: dict[str, Process] = {}
        self._environment: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def install(self) -> None: ...

    @abstractmethod
    def configure(self, settings: Mapping[str, Setting], *, clock_faults: bool = False) -> None: ...

    @abstractmethod
    def command(self, node: str) -> list[str]:
        """Which starts the broker; the path of its settings file is one of its words, and of no other process."""

    def watch_with(self, environment: Mapping[str, Mapping[str, str]]) -> None:
        """Brokers started from now on have this in their environment as well, by node; after `configure`, which decides about the rest."""
        for node, more in environment.items():
            self._environment[node] = {**self._environment.get(node, {}), **more}

    @abstractmethod
    def is_up(self, node: str) -> bool: ...

    @abstractmethod
    def controller(self) -> str | None: ...

    @abstractmethod
    def clock_error(self, node: str) -> ClockError | None: ...

    def prepare(self) -> None:  # noqa: B027 (most systems have nothing to prepare)
        """What a first start would otherwise do by the way, and what is no part of a start."""

    def start(self) -> None:
        self.prepare()
        for node in self._nodes:
            self.start_node(node)
        self.wait_up(list(self._nodes))

    def start_node(self, node: str) -> None:
        with self._lock:
            running = self._processes.get(node)
            if running is not None and self._nodes[node].alive(running):
                return
            self._processes[node] = self._nodes[node].start(self.command(node), out=LOG, env=self._environment.get(node, {}))

    def wait_up(self, nodes: Sequence[str], timeout: float = START_TIMEOUT) -> None:
        """Raises EnvironmentFault with the last words of a broker that ended instead."""
        deadline = time.monotonic() + timeout
        waiting = list(nodes)
        while waiting := [node for node in waiting if not self.is_up(node)]:
            ended = [node for node in waiting if (process := self.process(node)) and not self._nodes[node].alive(process)]
            if ended:
                raise EnvironmentFault(f"the broker on node {ended[0]} ended while starting: {self._last_words(ended[0])}")
            if time.monotonic() > deadline:
                raise EnvironmentFault(f"not up after {timeout:g} s: {', '.join(waiting)}; last words: {self._last_words(waiting[0])}")
            time.sleep(_POLL)

    def stop_node(self, node: str, timeout: float = STOP_TIMEOUT) -> bool:
        process = self.process(node)
        if process is None:
            return True
        self._nodes[node].signal(process, signal.SIGTERM)
        return self._forget_if_ended(node, process, timeout)

    def kill_node(self, node: str) -> None:
        process = self.process(node)
        if process is None:
            return
        self._nodes[node].signal(process, signal.SIGKILL)
        if not self._forget_if_ended(node, process, _KILL_TIMEOUT):
            raise EnvironmentFault(f"the broker on node {node} (process {process.pid}) did not end after SIGKILL")

    def wipe_node(self, node: str) -> None:
        assert self.process(node) is None, "only a broker that does not run can be wiped"
        self._nodes[node].run(["rm", "-rf", self.data_path(node)]).require(f"wiping node {node}")

    def process(self, node: str) -> Process | None:
        with self._lock:
            return self._processes.get(node)

    def find_process(self, node: str) -> Seen | None:
        return questions.find_process(self._nodes[node], self._path(node, self.settings_file))

    def died(self) -> list[str]:
        return [name for name, node in self._nodes.items() if (process := self.process(name)) and not node.alive(process)]

    def leaders(self) -> dict[tuple[str, int], Leadership]:
        newest: dict[tuple[str, int], questions.PartitionAnswer] = {}
        for answer in self._ask_all(lambda node: questions.ask_metadata(node, PORT)):
            for partition in answer.partitions if answer else []:
                key = (partition.topic, partition.partition)
                if key not in newest or partition.epoch > newest[key].epoch:
                    newest[key] = partition
        return {key: self._leadership(newest[key]) for key in sorted(newest) if key[0] not in self.internal_topics}

    def set_clock(self, node: str, offset: float) -> None:
        if "LD_PRELOAD" not in self._environment.get(node, {}):
            raise EnvironmentFault(f"the broker on node {node} was not started with a clock that can be put off")
        put_clock_off(self._nodes[node], offset)

    def data_path(self, node: str) -> str:
        return self._path(node, _DATA)

    def collect_logs(self, folder: Path) -> None:
        for name, node in self._nodes.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / LOG).write_bytes(self._said(node))

    def dump(self, value_of: Callable[[bytes], int | None]) -> Iterator[ReplicaLog]:
        """The high watermark is the one of the broker's last checkpoint: exact after a clean stop, else up to some seconds old."""
        for name, node in self._nodes.items():
            marks = high_watermarks(node, self.data_path(name))
            for (topic, part), segments in list_replicas(node, self.data_path(name)).items():
                if topic not in self.internal_topics:
                    yield read_replica(name, topic, part, map(node.get, segments), marks.get((topic, part)), value_of)

    def _voters(self) -> dict[int, Node]:
        """The nodes that have a say in who is controller, by number."""
        return {number: self._nodes[self._names[number]] for number in range(1, controllers_of(len(self._names)) + 1)}

    def _ask_all(self, question: Callable[[Node], _T]) -> list[_T]:
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            return list(pool.map(question, self._nodes.values()))

    def _path(self, node: str, name: str) -> str:
        return f"{self._nodes[node].folder}/{name}"

    def _forget_if_ended(self, node: str, process: Process, timeout: float) -> bool:
        if self._nodes[node].wait(process, timeout) is None:
            return False
        with self._lock:
            if self._processes.get(node) == process:
                del self._processes[node]
        return True

    def _leadership(self, answer: questions.PartitionAnswer) -> Leadership:
        def named(numbers: Sequence[int]) -> tuple[str, ...]:
            return tuple(self._names[number] for number in numbers if number in self._names)

        return Leadership(self._names.get(answer.leader), answer.epoch, named(answer.replicas), named(answer.isr))

    def _last_words(self, node: str) -> str:
        """Without the lines of a stack trace, which are indented."""
        lines = self._said(self._nodes[node]).decode(errors="replace").splitlines()
        return next((line for line in reversed(lines) if line.strip() and not line[0].isspace()), "none")

    def _said(self, node: Node) -> bytes:
        try:
            return node.get(LOG)
        except FileNotFoundError:
            return b""
