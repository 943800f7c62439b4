"""Our broker on nodes: `python -m broker_impl`, one on each node's address, all of it in the node's folder.

Nodes that share our files run the source where it lies; others get a copy.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from compileall import compile_dir
from pathlib import Path

from harness.nodes import Node, Nodes
from harness.systems import broker_questions as questions
from harness.systems.clock_file import clock_environment, clock_settings
from harness.systems.cluster_plan import as_toml, new_cluster_id
from harness.systems.deployed_system import LOG, PORT, DeployedSystem
from harness.systems.system import ClockError, Setting

__all__ = ["HTTP_PORT", "LOG", "PORT", "HighwaterSystem"]

HTTP_PORT = 9080
_PLUGIN = "plugin.py"
_ROOT = Path(__file__).resolve().parents[2]


class HighwaterSystem(DeployedSystem):
    name = "highwater"
    ports: tuple[int, ...] = (PORT, HTTP_PORT)
    settings_file = "broker.toml"

    def __init__(self, nodes: Nodes, *, plugin: Path | None = None, source: Path = _ROOT) -> None:
        """`plugin`: a module that replaces a behaviour of the broker, put on every node. `source`: a checkout that has the broker."""
        super().__init__(nodes)
        self._plugin = plugin
        self._source = source

    def install(self) -> None:
        """Compiled once, where it may be: brokers that are killed and started all the time would each do it anew."""
        compile_dir(self._source / "broker_impl", quiet=2)
        for node in self._nodes.values():
            if not node.shares_files:
                node.run(["tar", "-xzf", "-"], input=_packed(self._source)).require(f"installing the broker on node {node.name}")

    def configure(self, settings: Mapping[str, Setting], *, clock_faults: bool = False) -> None:
        cluster_id = new_cluster_id()
        for number, name in self._names.items():
            node = self._nodes[name]
            own = self._own_settings(number, node, cluster_id) | dict(settings)
            node.put(self.settings_file, as_toml(own).encode())
            if self._plugin is not None:
                node.put(_PLUGIN, self._plugin.read_bytes())
            self._environment[name] = self._path_to_broker(node) | (clock_environment(node) if clock_faults else {})

    def adopt(self) -> None:
        """Take over brokers that an earlier command configured on these nodes, clocks and all; those that run are known from now on."""
        for name, node in self._nodes.items():
            self._environment[name] = self._path_to_broker(node) | clock_settings(node)
            if (seen := self.find_process(name)) is not None:
                self._processes[name] = seen.process

    def command(self, node: str) -> list[str]:
        plugin = ["--plugin", self._path(node, _PLUGIN)] if self._plugin is not None else []
        return [questions.python_of(self._nodes[node]), "-m", "broker_impl", "--config", self._path(node, self.settings_file), *plugin]

    def is_up(self, node: str) -> bool:
        health = questions.ask_health(self._nodes[node], HTTP_PORT)
        return health is not None and health.ready

    def controller(self) -> str | None:
        """In the words of the broker that has read furthest in the metadata."""
        answers = [health for health in self._ask_all(lambda node: questions.ask_health(node, HTTP_PORT)) if health]
        known = [health for health in answers if health.controller is not None]
        number = max(known, key=lambda health: health.metadata_offset).controller if known else None
        return self._names.get(number) if number is not None else None

    def clock_error(self, node: str) -> ClockError | None:
        health = questions.ask_health(self._nodes[node], HTTP_PORT, precise=True)
        return health.clock if health else None

    def _own_settings(self, number: int, node: Node, cluster_id: str) -> dict[str, Setting]:
        voters = self._voters()
        return {
            "node.id": number,
            "process.roles": "broker,controller" if number in voters else "broker",
            "cluster.id": cluster_id,
            "controller.quorum.voters": ",".join(f"{voter}@{each.address}:{PORT}" for voter, each in voters.items()),
            "listeners": f"PLAINTEXT://{node.address}:{PORT}",
            "advertised.listeners": f"PLAINTEXT://{node.address}:{PORT}",
            "http.listener": f"{node.address}:{HTTP_PORT}",
            "log.dirs": self.data_path(node.name),
        }

    def _path_to_broker(self, node: Node) -> dict[str, str]:
        return {"PYTHONPATH": str(self._source) if node.shares_files else node.folder}


def _packed(source: Path) -> bytes:
    """The broker's package as a compressed archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path in sorted((source / "broker_impl").rglob("*.py")):
            archive.add(path, path.relative_to(source).as_posix())
    return buffer.getvalue()
