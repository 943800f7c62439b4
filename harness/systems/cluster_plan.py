"""What a local cluster is made of: who it is, which brokers, on which ports, with which roles and settings. Pure.

The plan is made once, when the data directory is, and kept there as JSON beside the processes last started from it; a cluster that is
started again is the same cluster. Every broker's settings follow from the plan and go into a file of Kafka's names.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from harness.systems.free_ports import LOOPBACK
from harness.systems.process import ProcessName

Setting = str | int | float | bool
MAX_NODES = 9


@dataclass(frozen=True, slots=True)
class NodePlan:
    id: int
    port: int
    http_port: int
    controller: bool

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def http_address(self) -> str:
        return f"{LOOPBACK}:{self.http_port}"

    @property
    def roles(self) -> str:
        return "broker,controller" if self.controller else "broker"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Invariant: node ids count up from 1 and the controllers come first."""

    cluster_id: str
    nodes: tuple[NodePlan, ...]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self.nodes)


def make_plan(ports: Sequence[int], http_ports: Sequence[int]) -> ClusterPlan:
    assert 1 <= len(ports) <= MAX_NODES and len(ports) == len(http_ports)
    voters = controllers_of(len(ports))
    nodes = [NodePlan(i, port, http, i <= voters) for i, (port, http) in enumerate(zip(ports, http_ports, strict=True), start=1)]
    return ClusterPlan(new_cluster_id(), tuple(nodes))


def new_cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def controllers_of(nodes: int) -> int:
    """An odd number, for an even one tolerates no more failures; more than five only cost time."""
    return 1 if nodes < 3 else 3 if nodes < 5 else 5


def broker_settings(plan: ClusterPlan, node: NodePlan, log_dir: str) -> dict[str, Setting]:
    """Short timers, so that what happens to a broker shows within seconds."""
    replicas = min(3, len(plan.nodes))
    in_sync = 2 if len(plan.nodes) >= 3 else 1
    return {
        "node.id": node.id,
        "process.roles": node.roles,
        "cluster.id": plan.cluster_id,
        "controller.quorum.voters": ",".join(f"{voter.id}@{voter.address}" for voter in plan.nodes if voter.controller),
        "controller.quorum.election.timeout.ms": 1000,
        "listeners": f"PLAINTEXT://{node.address}",
        "advertised.listeners": f"PLAINTEXT://{node.address}",
        "http.listener": node.http_address,
        "log.dirs": log_dir,
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
    }


def as_toml(settings: Mapping[str, Setting]) -> str:
    """One line a setting: TOML's dotted keys look like Kafka's names, and its basic strings are JSON's."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def encode_state(plan: ClusterPlan, processes: Mapping[int, ProcessName]) -> str:
    nodes = [asdict(node) | {"process": asdict(processes[node.id]) if node.id in processes else None} for node in plan.nodes]
    return json.dumps({"version": 1, "cluster_id": plan.cluster_id, "nodes": nodes}, indent=2) + "\n"


def decode_state(text: str) -> tuple[ClusterPlan, dict[int, ProcessName]]:
    """Raises ValueError or KeyError on what is no state of a cluster."""
    state = json.loads(text)
    if state["version"] != 1:
        raise ValueError(f"version {state['version']} of the state file is not known here")
    nodes = tuple(NodePlan(node["id"], node["port"], node["http_port"], node["controller"]) for node in state["nodes"])
    processes = {node["id"]: ProcessName(**node["process"]) for node in state["nodes"] if node["process"]}
    return ClusterPlan(state["cluster_id"], nodes), processes
