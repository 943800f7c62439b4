"""A cluster of our broker on namespace nodes, to play with: made by one command, found by the next in its folder.

The keeper of the nodes outlives the command that made it, and so do the brokers; a later command knows them by what /proc shows. Their
clocks can be put off from the beginning, so that every fault can strike by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.errors import UserMistake
from harness.nodes.namespaces import STATE, NamespaceNodes
from harness.systems.highwater_system import HighwaterSystem
from harness.systems.system import STOP_TIMEOUT, Setting

RUN_ID = "cluster"


class NodeCluster:
    """Invariant: the nodes are there; brokers may be up or down."""

    def __init__(self, nodes: NamespaceNodes) -> None:
        self.nodes = nodes
        self.system = HighwaterSystem(nodes)

    @staticmethod
    def lies_in(data: Path) -> bool:
        return (data / STATE).exists()

    @classmethod
    def up(cls, data: Path, count: int | None, settings: Mapping[str, Setting], *, detached: bool) -> NodeCluster:
        """A new one, or the one that lies there again with its data; all brokers serve when this returns."""
        before = NamespaceNodes.names_in(data) if cls.lies_in(data) else None
        if before is not None and NamespaceNodes.running_in(data):
            raise UserMistake(f"the cluster in {data} is running already; `./highwater cluster down --data {data}` stops it")
        if before is not None and count not in (None, len(before)):
            raise UserMistake(f"the cluster in {data} has {len(before)} nodes, not {count}; leave out --nodes, or choose another --data")
        nodes = NamespaceNodes.create(len(before) if before else count or 3, RUN_ID, data, detached=detached)
        try:
            made = cls(nodes)
            if before is None:
                made.system.configure(settings, clock_faults=True)
            else:
                made.system.adopt()
            made.system.start()
            return made
        except BaseException:
            nodes.close()
            raise

    @classmethod
    def open(cls, data: Path) -> NodeCluster:
        if not cls.lies_in(data) or not NamespaceNodes.running_in(data):
            raise UserMistake(f"no cluster of namespaces runs in {data}; `./highwater cluster up --nodes-kind namespaces` starts one")
        found = cls(NamespaceNodes.open(data))
        found.system.adopt()
        return found

    def down(self) -> list[str]:
        """Stop every broker in order; those that had to be killed with the nodes."""

        def stop(name: str) -> bool:
            return self.system.stop_node(name, STOP_TIMEOUT)

        names = [node.name for node in self.nodes.nodes]
        with ThreadPoolExecutor(len(names)) as pool:
            stopped = list(pool.map(stop, names))
        self.nodes.close()
        return [name for name, ended in zip(names, stopped, strict=True) if not ended]
