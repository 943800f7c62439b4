"""A cluster of our broker on nodes with addresses of their own, to play with: made by one command, found by the next in its folder.

Nodes are namespaces or containers. They outlive the command that made them detached, and so do the brokers; a later command knows them
by what /proc shows. Their clocks can be put off from the beginning, so that every fault can strike by hand. What a namespace's broker
stored lies in the cluster's folder and is there again after a stop; a container takes its data with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import UserMistake
from harness.nodes import NodeLost
from harness.nodes.namespaces import NamespaceNodes
from harness.nodes.state_files import STATE_FILES
from harness.systems.highwater_system import HighwaterSystem
from harness.systems.system import STOP_TIMEOUT, Setting

if TYPE_CHECKING:
    from harness.nodes.docker_nodes import DockerNodes

KINDS = tuple(STATE_FILES)
_RUN_ID = "cluster"
_NODES = 3


class NodeCluster:
    """Invariant: the nodes are there; brokers may be up or down."""

    def __init__(self, nodes: NamespaceNodes | DockerNodes) -> None:
        self.nodes = nodes
        self.system = HighwaterSystem(nodes)

    @staticmethod
    def kind_in(data: Path) -> str | None:
        """What nodes were made there last, running or not."""
        return next((kind for kind in KINDS if (data / STATE_FILES[kind]).exists()), None)

    @classmethod
    def up(cls, data: Path, kind: str, count: int | None, settings: Mapping[str, Setting], *, detached: bool) -> NodeCluster:
        """A new one, or the one that lies there again with its data; all brokers serve when this returns."""
        if cls.running_in(data):
            raise UserMistake(f"the cluster in {data} is running already; `./highwater cluster down --data {data}` stops it")
        before = NamespaceNodes.names_in(data) if cls.kind_in(data) == "namespaces" else None
        if before is not None and count not in (None, len(before)):
            raise UserMistake(f"the cluster in {data} has {len(before)} nodes, not {count}; leave out --nodes, or choose another --data")
        made = cls(_create(kind, len(before) if before else count or _NODES, data, detached=detached))
        try:
            if before is None:
                made.system.install()
                made.system.configure(settings, clock_faults=True)
            else:
                made.system.adopt()
            made.system.start()
            return made
        except BaseException:
            made.nodes.close()
            raise

    @classmethod
    def open(cls, data: Path) -> NodeCluster:
        nodes = _running(data)
        if nodes is None:
            kinds = "|".join(KINDS)
            raise UserMistake(f"no cluster on nodes of its own runs in {data}; `./highwater cluster up --nodes-kind {kinds}` starts one")
        found = cls(nodes)
        found.system.adopt()
        return found

    @classmethod
    def running_in(cls, data: Path) -> bool:
        return _running(data) is not None

    def down(self) -> list[str]:
        """Stop every broker in order; those that had to be killed with the nodes."""

        def stop(name: str) -> bool:
            return self.system.stop_node(name, STOP_TIMEOUT)

        names = [node.name for node in self.nodes.nodes]
        with ThreadPoolExecutor(len(names)) as pool:
            stopped = list(pool.map(stop, names))
        self.nodes.close()
        return [name for name, ended in zip(names, stopped, strict=True) if not ended]


def _create(kind: str, count: int, data: Path, *, detached: bool) -> NamespaceNodes | DockerNodes:
    if kind == "namespaces":
        return NamespaceNodes.create(count, _RUN_ID, data, detached=detached)
    from harness.nodes.docker_nodes import DockerNodes

    return DockerNodes.create(count, f"{_RUN_ID}-{secrets.token_hex(4)}", data.resolve(), detached=detached)


def _running(data: Path) -> NamespaceNodes | DockerNodes | None:
    kind = NodeCluster.kind_in(data)
    if kind == "namespaces" and NamespaceNodes.running_in(data):
        return NamespaceNodes.open(data)
    if kind != "docker":
        return None
    from harness.nodes.docker_nodes import DockerNodes

    try:
        return DockerNodes.open(data.resolve())
    except NodeLost:
        return None
