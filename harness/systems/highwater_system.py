"""Our broker on nodes: `python -m broker_impl`, one on each node's address, all of it in the node's folder.

Nodes that share our files run the source where it lies; others get a copy.

Two traps. A broker is asked on its own node, because between the nodes there may be a cut. And a broker that was started again is
another process: everything that was known of the old one is forgotten under a lock before the new one can be seen.
"""

from __future__ import annotations

import base64
import io
import signal
import tarfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from harness.errors import EnvironmentFault
from harness.nodes import Node, Nodes, Process
from harness.nodes.namespaces import NamespaceNode
from harness.systems import broker_questions as questions
from harness.systems.clock_file import clock_environment, put_clock_off
from harness.systems.cluster_plan import as_toml, controllers_of
from harness.systems.log_dump import read_replica
from harness.systems.replica_files import high_watermarks, list_replicas
from harness.systems.system import START_TIMEOUT, STOP_TIMEOUT, ClockError, Leadership, ReplicaLog, Seen, Setting

PORT = 9092
HTTP_PORT = 9080
LOG = "broker.log"
_ROOT = Path(__file__).resolve().parents[2]
_SETTINGS, _PLUGIN, _DATA = "broker.toml", "plugin.py", "data"
_KILL_TIMEOUT = 30.0
_POLL = 0.1
_T = TypeVar("_T")


class HighwaterSystem:
    """Invariant: `_processes` holds each node's process from its start until we have stopped or killed it."""

    name = "highwater"
    ports: tuple[int, ...] = (PORT, HTTP_PORT)

    def __init__(self, nodes: Nodes, *, plugin: Path | None = None) -> None:
        """`plugin`: a module that replaces a behaviour of the broker, put on every node."""
        self._plugin = plugin
        self._nodes: dict[str, Node] = {node.name: node for node in nodes.nodes}
        self._names = {number: name for number, name in enumerate(self._nodes, start=1)}
        self.bootstrap = ",".join(f"{node.address}:{PORT}" for node in self._nodes.values())
        self._processes: dict[str, Process] = {}
        self._environment: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def install(self) -> None:
        for node in self._nodes.values():
            if not isinstance(node, NamespaceNode):
                node.run(["tar", "-xzf", "-"], input=_source()).require(f"installing the broker on node {node.name}")

    def configure(self, settings: Mapping[str, Setting], *, clock_faults: bool = False) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        for number, name in self._names.items():
            node = self._nodes[name]
            own = self._own_settings(number, node, cluster_id) | dict(settings)
            node.put(_SETTINGS, as_toml(own).encode())
            if self._plugin is not None:
                node.put(_PLUGIN, self._plugin.read_bytes())
            self._environment[name] = {"PYTHONPATH": str(_ROOT) if isinstance(node, NamespaceNode) else node.folder}
            if clock_faults:
                self._environment[name] |= clock_environment(node)

    def start(self) -> None:
        for node in self._nodes:
            self.start_node(node)
        self.wait_up(list(self._nodes))

    def start_node(self, node: str) -> None:
        command = [questions.python_of(self._nodes[node]), "-m", "broker_impl", "--config", self._path(node, _SETTINGS)]
        if self._plugin is not None:
            command += ["--plugin", self._path(node, _PLUGIN)]
        with self._lock:
            running = self._processes.get(node)
            if running is not None and self._nodes[node].alive(running):
                return
            self._processes[node] = self._nodes[node].start(command, out=LOG, env=self._environment.get(node, {}))

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

    def is_up(self, node: str) -> bool:
        health = questions.ask_health(self._nodes[node], HTTP_PORT)
        return health is not None and health.ready

    def process(self, node: str) -> Process | None:
        with self._lock:
            return self._processes.get(node)

    def find_process(self, node: str) -> Seen | None:
        return questions.find_process(self._nodes[node], self._path(node, _SETTINGS))

    def died(self) -> list[str]:
        return [name for name, node in self._nodes.items() if (process := self.process(name)) and not node.alive(process)]

    def controller(self) -> str | None:
        """In the words of the broker that has read furthest in the metadata."""
        answers = [health for health in self._ask_all(lambda node: questions.ask_health(node, HTTP_PORT)) if health]
        known = [health for health in answers if health.controller is not None]
        number = max(known, key=lambda health: health.metadata_offset).controller if known else None
        return self._names.get(number) if number is not None else None

    def leaders(self) -> dict[tuple[str, int], Leadership]:
        newest: dict[tuple[str, int], questions.PartitionAnswer] = {}
        for answers in self._ask_all(lambda node: questions.ask_partitions(node, PORT)):
            for answer in answers or []:
                key = (answer.topic, answer.partition)
                if key not in newest or answer.epoch > newest[key].epoch:
                    newest[key] = answer
        return {key: self._leadership(answer) for key, answer in sorted(newest.items())}

    def clock_error(self, node: str) -> ClockError | None:
        health = questions.ask_health(self._nodes[node], HTTP_PORT, precise=True)
        return health.clock if health else None

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
                yield read_replica(name, topic, part, map(node.get, segments), marks.get((topic, part)), value_of)

    def _forget_if_ended(self, node: str, process: Process, timeout: float) -> bool:
        if self._nodes[node].wait(process, timeout) is None:
            return False
        with self._lock:
            if self._processes.get(node) == process:
                del self._processes[node]
        return True

    def _own_settings(self, number: int, node: Node, cluster_id: str) -> dict[str, Setting]:
        voters = list(self._names.items())[: controllers_of(len(self._names))]
        return {
            "node.id": number,
            "process.roles": "broker,controller" if number <= len(voters) else "broker",
            "cluster.id": cluster_id,
            "controller.quorum.voters": ",".join(f"{voter}@{self._nodes[name].address}:{PORT}" for voter, name in voters),
            "listeners": f"PLAINTEXT://{node.address}:{PORT}",
            "advertised.listeners": f"PLAINTEXT://{node.address}:{PORT}",
            "http.listener": f"{node.address}:{HTTP_PORT}",
            "log.dirs": self._path(node.name, _DATA),
        }

    def _ask_all(self, question: Callable[[Node], _T]) -> list[_T]:
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            return list(pool.map(question, self._nodes.values()))

    def _leadership(self, answer: questions.PartitionAnswer) -> Leadership:
        def named(numbers: Sequence[int]) -> tuple[str, ...]:
            return tuple(self._names[number] for number in numbers if number in self._names)

        return Leadership(self._names.get(answer.leader), answer.epoch, named(answer.replicas), named(answer.isr))

    def _last_words(self, node: str) -> str:
        lines = [line for line in self._said(self._nodes[node]).decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else "none"

    def _said(self, node: Node) -> bytes:
        try:
            return node.get(LOG)
        except FileNotFoundError:
            return b""

    def _path(self, node: str, name: str) -> str:
        return f"{self._nodes[node].folder}/{name}"


def _source() -> bytes:
    """The broker's package as a compressed archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path in sorted((_ROOT / "broker_impl").rglob("*.py")):
            archive.add(path, path.relative_to(_ROOT).as_posix())
    return buffer.getvalue()
