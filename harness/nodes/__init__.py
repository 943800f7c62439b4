"""Nodes: hosts with an address, on which commands run and processes are started and signalled.

    with create("namespaces", 3, run_id, folder) as nodes:
        nodes.client.run([...]); nodes.nodes[0].start([...], out="broker.log")

Three kinds behind one interface (`node`): namespaces of this machine, Docker containers, hosts reached over SSH.
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import UserMistake
from harness.nodes.network import Network, Rule
from harness.nodes.node import CommandFailed, CommandTimedOut, Node, NodeLost, Nodes, Process, Result

__all__ = [
    "KINDS", "CommandFailed", "CommandTimedOut", "Network", "Node", "NodeLost", "Nodes", "Process", "Result", "Rule", "available", "create",
]  # fmt: skip

KINDS = ("namespaces", "docker", "ssh")


def create(kind: str, count: int, run_id: str, folder: Path, *, inventory: Path | None = None) -> Nodes:
    """That many nodes and one for clients. What belongs to the run on this machine (sockets, keys, logs) lies in the folder."""
    if kind == "namespaces":
        from harness.nodes.namespaces import NamespaceNodes

        return NamespaceNodes.create(count, run_id, folder)
    if kind == "docker":
        from harness.nodes.docker_nodes import DockerNodes

        return DockerNodes.create(count, run_id, folder)
    if kind == "ssh":
        from harness.nodes.ssh_nodes import SshNodes

        if inventory is None:
            raise UserMistake("nodes of the kind ssh need an inventory, a TOML file with their addresses: --inventory FILE")
        return SshNodes.create(count, run_id, inventory)
    raise UserMistake(f"there are no nodes of the kind {kind}; there are {', '.join(KINDS)}")


def available(kind: str) -> str | None:
    """Why nodes of this kind cannot be had here, and the remedy; nothing if they can. The kind ssh depends on its inventory alone."""
    if kind == "namespaces":
        from harness.nodes import namespaces

        return namespaces.available()
    if kind == "docker":
        from harness.nodes import docker_nodes

        return docker_nodes.available()
    if kind == "ssh":
        return None
    raise UserMistake(f"there are no nodes of the kind {kind}; there are {', '.join(KINDS)}")
