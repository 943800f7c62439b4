"""Apache Kafka on nodes, in KRaft mode: a JVM on each node's address, all of it in the node's folder.

Nodes that share our files run jars and Java where they lie; others get a copy of both, of the Java in the lock file's wheel. A Kafka node
will not start on a folder that was not formatted, so a folder without data, new or wiped, is formatted before the broker starts.

The trap: a Kafka node that is told to stop asks the controller for leave first. Where most controllers are gone it goes on asking for
five minutes, so of a whole cluster the last nodes do not stop, they have to be killed.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.nodes import Node, Nodes
from harness.systems import broker_questions, kafka_questions
from harness.systems.clock_file import clock_environment
from harness.systems.cluster_plan import new_cluster_id
from harness.systems.deployed_system import PORT, DeployedSystem
from harness.systems.kafka_files import KafkaFiles, find_files
from harness.systems.kafka_properties import CONTROLLER_PORT, LOG_CONFIGURATION, SERVER, TOOL, as_properties, java_command, node_settings
from harness.systems.system import ClockError, Setting

_JAVA, _JARS = "java", "jars"
START_TIMEOUT = 180.0  # several JVMs that start on one machine take their time
_COPY_TIMEOUT = 600.0
_TOOL_TIMEOUT = 120.0


class KafkaSystem(DeployedSystem):
    """Invariant: once configured, each node's settings file names `_cluster_id`'s cluster when its folder is formatted."""

    name = "kafka"
    ports: tuple[int, ...] = (PORT, CONTROLLER_PORT)
    start_timeout = START_TIMEOUT
    settings_file = "server.properties"
    internal_topics = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", kafka_questions.CLOCK_TOPIC})

    def __init__(self, nodes: Nodes, *, kafka_home: Path | None = None) -> None:
        super().__init__(nodes)
        self._kafka_home = kafka_home
        self._files: dict[str, KafkaFiles] = {}
        self._cluster_id = ""
        self._clock_faults = False

    def install(self) -> None:
        copied = not all(node.shares_files for node in self._nodes.values())
        here = find_files(self._kafka_home, copied=copied)
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            self._files = dict(zip(self._nodes, pool.map(lambda node: _installed(node, here), self._nodes.values()), strict=True))

    def configure(self, settings: Mapping[str, Setting], *, clock_faults: bool = False) -> None:
        self._cluster_id, self._clock_faults = new_cluster_id(), clock_faults
        voters = {number: node.address for number, node in self._voters().items()}
        for number, name in self._names.items():
            node = self._nodes[name]
            own = node_settings(number, node.address, voters, len(self._names), self.data_path(name), settings)
            node.put(self.settings_file, as_properties(own).encode())
            node.put("log4j2.properties", LOG_CONFIGURATION.encode())
            node.put("tmp/.here", b"")
            self._environment[name] = clock_environment(node) if clock_faults else {}

    def prepare(self) -> None:
        """The first start is the one that formats, so all nodes do it at once."""
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            list(pool.map(self._format, self._nodes))

    def start(self) -> None:
        super().start()
        if self._clock_faults:
            self._make_clock_topic()

    def start_node(self, node: str) -> None:
        self._format(node)
        super().start_node(node)

    def wait_up(self, nodes: Sequence[str], timeout: float = START_TIMEOUT) -> None:
        super().wait_up(nodes, timeout)

    def command(self, node: str) -> list[str]:
        return self._java(node, SERVER, "kafka.Kafka", self._path(node, self.settings_file))

    def is_up(self, node: str) -> bool:
        """It is among the brokers it knows, and it knows a controller."""
        number = next(number for number, name in self._names.items() if name == node)
        known = broker_questions.ask_metadata(self._nodes[node], PORT)
        return known is not None and number in known.brokers and self.controller() is not None

    def controller(self) -> str | None:
        """In the words of the node whose epoch is the latest; nodes whose process has ended are not asked."""
        running = [node for name, node in self._nodes.items() if (process := self.process(name)) and node.alive(process)]
        known = [kafka_questions.known_leader(node, self.data_path(node.name)) for node in running]
        newest = max(filter(None, known), default=None)
        return self._names.get(newest[1]) if newest else None

    def clock_error(self, node: str) -> ClockError | None:
        """Nothing where clocks are not to be put off: only then there is a topic to read them from."""
        if not self._clock_faults:
            return None
        return kafka_questions.ask_clock(self._nodes[node], PORT, list(self._nodes).index(node))

    def _format(self, name: str) -> None:
        node = self._nodes[name]
        if node.run(["test", "-e", f"{self.data_path(name)}/meta.properties"]).code == 0:
            return
        arguments = ["format", "--cluster-id", self._cluster_id, "--config", self._path(name, self.settings_file)]
        command = self._java(name, TOOL, "kafka.tools.StorageTool", *arguments)
        node.run(command, timeout=_TOOL_TIMEOUT).require(f"formatting Kafka's folder on node {name}")

    def _make_clock_topic(self) -> None:
        first = next(iter(self._nodes.values()))
        if not kafka_questions.create_clock_topic(first, PORT, self._names):
            raise EnvironmentFault(f"Kafka refuses the topic {kafka_questions.CLOCK_TOPIC}, by which its clocks are read")

    def _java(self, node: str, options: Sequence[str], main: str, *arguments: str) -> list[str]:
        files = self._files[node]
        return java_command(f"{files.java}/bin/java", options, str(files.jars), self._nodes[node].folder, main, *arguments)


def _installed(node: Node, here: KafkaFiles) -> KafkaFiles:
    """Where they are on the node."""
    if node.shares_files:
        return here
    what = f"installing Kafka on node {node.name}"
    for name, folder in ((_JAVA, here.java), (_JARS, here.jars)):
        node.run(["tar", "-xf", "-"], input=_archive(folder, name), timeout=_COPY_TIMEOUT).require(what)
    node.run([f"{node.folder}/{_JAVA}/bin/java", "-version"]).require(f"{what}: Java")
    return KafkaFiles(Path(node.folder, _JAVA), Path(node.folder, _JARS))


def _archive(folder: Path, name: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
        archive.add(folder, name)
    return buffer.getvalue()
