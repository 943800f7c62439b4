"""`./highwater cluster`: a cluster on this machine's loopback to play with, using any Kafka client.

Commands only: what a cluster is and how it is started and stopped is `harness.systems.local_cluster`. A cluster is named by its
directory; every command finds it there, whether another terminal, a script or nobody is holding it. One on nodes with addresses of
their own, which faults can strike, is `harness.cli.node_cluster`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.cli import node_cluster
from harness.cli.arguments import Parser, number_between
from harness.cli.cluster_logs import print_logs
from harness.cli.table import format_table
from harness.cli.terminations import terminations_as_interrupts
from harness.errors import DONE, ENVIRONMENT, EnvironmentFault, UserMistake
from harness.nodes.namespaces import NamespaceNodes
from harness.systems.cluster_plan import MAX_NODES
from harness.systems.local_cluster import LocalCluster
from harness.systems.node_cluster import KINDS, NodeCluster

DEFAULT_DATA = Path("highwater-data")
DEFAULT_NODES = 3
DEFAULT_PORT = 9092


def main(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    code: int = arguments.command(arguments, Path(getattr(arguments, "data", DEFAULT_DATA)))
    return code


def up(arguments: argparse.Namespace, data: Path) -> int:
    before = NodeCluster.kind_in(data) or ("local" if (data / "cluster.json").exists() else None)
    kind = arguments.nodes_kind or before or "local"
    if before not in (None, kind):
        raise UserMistake(f"{data} holds a cluster of the kind {before}, and none of the kind {kind}; choose another --data")
    if kind != "local":
        if arguments.port is not None:
            raise UserMistake("brokers on nodes have ports of their own; leave out --port")
        return node_cluster.up(data, kind, arguments.nodes, detached=arguments.detach)
    cluster = _same_or_new(arguments, data)
    with terminations_as_interrupts():
        try:
            cluster.start(detached=arguments.detach)
            cluster.wait_ready()
            _introduce(cluster)
            if arguments.detach:
                print(f"detached; `./highwater cluster down --data {data}` stops it")
                return DONE
            print("Ctrl-C stops it", flush=True)
            return _watch(cluster)
        except KeyboardInterrupt:
            print("stopping", flush=True)
            return _stop(cluster)
        except EnvironmentFault:
            cluster.stop()
            raise


def execute(arguments: argparse.Namespace, data: Path) -> int:
    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        raise UserMistake("what is to be run? `./highwater cluster exec -- COMMAND`")
    cluster = NodeCluster.open(data)
    if not isinstance(cluster.nodes, NamespaceNodes):
        raise UserMistake(f"the nodes of the cluster in {data} are containers: {node_cluster.reached(cluster, data)}")
    return cluster.nodes.client.execute(words, os.getcwd())


def down(arguments: argparse.Namespace, data: Path) -> int:
    if NodeCluster.kind_in(data):
        return node_cluster.down(data)
    cluster = LocalCluster.open(data)
    if not any(cluster.alive(node) for node in cluster.ids):
        print(f"the cluster in {data} is not running")
        return DONE
    return _stop(cluster)


def status(arguments: argparse.Namespace, data: Path) -> int:
    if NodeCluster.kind_in(data):
        return node_cluster.status(data, as_json=arguments.json)
    cluster = LocalCluster.open(data)
    found = _status(cluster)
    if arguments.json:
        print(json.dumps(found))
        return DONE
    print(f"controller: {found['controller'] if found['controller'] is not None else 'none'}\n")
    rows = [[broker["id"], broker["address"], broker["pid"] or "-", "yes" if broker["alive"] else "no"] for broker in found["brokers"]]
    print(format_table(["node", "address", "pid", "alive"], rows))
    if found["partitions"]:
        print()
        print(_partition_table(found["partitions"]))
    return DONE


def list_topics(arguments: argparse.Namespace, data: Path) -> int:
    with _admin(data) as admin:
        partitions = admin.partitions()
    print(_partition_table([asdict(state) for state in partitions]) if partitions else "no topics")
    return DONE


def create_topic(arguments: argparse.Namespace, data: Path) -> int:
    settings = dict(_setting(text) for text in arguments.config)
    with _admin(data) as admin:
        admin.create_topic(arguments.name, arguments.partitions or -1, arguments.replicas or -1, settings)
    print(f"created {arguments.name}")
    return DONE


def delete_topic(arguments: argparse.Namespace, data: Path) -> int:
    with _admin(data) as admin:
        admin.delete_topic(arguments.name)
    print(f"deleted {arguments.name}")
    return DONE


def elect(arguments: argparse.Namespace, data: Path) -> int:
    with _admin(data) as admin:
        admin.elect_preferred(arguments.topics)
    print("every partition is led by its first live replica")
    return DONE


def logs(arguments: argparse.Namespace, data: Path) -> int:
    _refuse_nodes(data, f"they lie in {data}/n1/broker.log and so on, in a container in /var/lib/highwater/n1/broker.log")
    cluster = LocalCluster.open(data)
    nodes = cluster.ids if arguments.node is None else [arguments.node]
    if nodes[0] not in cluster.ids:
        raise UserMistake(f"there is no node {nodes[0]}; the cluster has nodes 1 to {len(cluster.ids)}")
    print_logs({node: cluster.log_path(node) for node in nodes}, arguments.lines, follow=arguments.follow)
    return DONE


def _same_or_new(arguments: argparse.Namespace, data: Path) -> LocalCluster:
    if not (data / "cluster.json").exists():
        return LocalCluster.create(data, arguments.nodes or DEFAULT_NODES, port=DEFAULT_PORT if arguments.port is None else arguments.port)
    cluster = LocalCluster.open(data)
    have, first = len(cluster.ids), cluster.plan.nodes[0].port
    if arguments.nodes not in (None, have):
        raise UserMistake(f"the cluster in {data} has {have} nodes, not {arguments.nodes}; leave out --nodes, or choose another --data")
    if arguments.port not in (None, 0, first):
        raise UserMistake(f"the cluster in {data} starts at port {first}, not {arguments.port}; leave out --port, or choose another --data")
    return cluster


def _introduce(cluster: LocalCluster) -> None:
    print(f"bootstrap={cluster.bootstrap}")
    rows = [[node.id, node.address, f"http://{node.http_address}", node.roles, cluster.pid(node.id)] for node in cluster.plan.nodes]
    print(format_table(["node", "address", "health and metrics", "roles", "pid"], rows), flush=True)


def _watch(cluster: LocalCluster) -> int:
    """Until Ctrl-C, or until the last broker has ended; tell of each one that does."""
    living = list(cluster.ids)
    while living:
        time.sleep(0.2)
        for node in [node for node in living if not cluster.alive(node)]:
            living.remove(node)
            print(f"node {node} ended ({_how(cluster.exit_code(node))})", flush=True)
    return DONE if all(cluster.exit_code(node) == 0 for node in cluster.ids) else ENVIRONMENT


def _how(exit_code: int | None) -> str:
    return f"signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"exit code {exit_code}"


def _stop(cluster: LocalCluster) -> int:
    killed = cluster.stop()
    if killed:
        print(f"nodes that did not stop in time and were killed: {', '.join(map(str, killed))}", file=sys.stderr)
        return ENVIRONMENT
    print("stopped")
    return DONE


def _status(cluster: LocalCluster) -> dict[str, Any]:
    nodes = cluster.plan.nodes
    brokers = [{"id": node.id, "address": node.address, "pid": cluster.pid(node.id), "alive": cluster.alive(node.id)} for node in nodes]
    controller = cluster.controller()
    partitions = []
    if controller is not None:
        from harness.systems.admin import connect

        with connect(_living_bootstrap(cluster)) as admin:
            partitions = [asdict(state) for state in admin.partitions()]
    return {"controller": controller, "brokers": brokers, "partitions": partitions}


@contextmanager
def _admin(data: Path) -> Iterator[Any]:
    _refuse_nodes(data, "its brokers are reached from inside only: `./highwater cluster exec -- COMMAND`, or `docker exec`")
    cluster = LocalCluster.open(data)
    bootstrap = _living_bootstrap(cluster)
    if not bootstrap:
        raise EnvironmentFault(f"the cluster in {data} is not running; `./highwater cluster up --data {data}` starts it")
    from harness.systems.admin import connect

    with connect(bootstrap) as admin:
        yield admin


def _refuse_nodes(data: Path, instead: str) -> None:
    if kind := NodeCluster.kind_in(data):
        raise UserMistake(f"the cluster in {data} is one of the kind {kind}: {instead}")


def _living_bootstrap(cluster: LocalCluster) -> str:
    return ",".join(node.address for node in cluster.plan.nodes if cluster.alive(node.id))


def _partition_table(partitions: Sequence[dict[str, Any]]) -> str:
    rows = [[p["topic"], p["partition"], p["leader"], p["epoch"], _ids(p["replicas"]), _ids(p["isr"])] for p in partitions]
    return format_table(["topic", "partition", "leader", "epoch", "replicas", "isr"], rows)


def _ids(nodes: Sequence[int]) -> str:
    return ",".join(map(str, nodes))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UserMistake(f"--config {text!r} is not of the form name=value")
    return name, value


def _parser() -> Parser:
    prog = "highwater cluster"
    parser = Parser(prog=prog, description="A cluster of brokers on this machine's loopback, for any Kafka client.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, what: str, command: Callable[[argparse.Namespace, Path], int]) -> argparse.ArgumentParser:
        found = commands.add_parser(name, prog=f"{prog} {name}", description=what, help=what)
        found.set_defaults(command=command)
        _add_data(found)
        return found

    upward = add("up", "start a cluster, or start the one that lies in the directory again; stays until Ctrl-C", up)
    upward.add_argument("--nodes", type=number_between(1, MAX_NODES), help=f"how many brokers, 1 to {MAX_NODES} (default {DEFAULT_NODES})")
    upward.add_argument("--port", type=number_between(0, 65_535), help=f"first one, counted up; 0: free ones (default {DEFAULT_PORT})")
    upward.add_argument("--detach", action="store_true", help="return once the cluster is ready, and leave it running")
    upward.add_argument(
        "--nodes-kind",
        choices=("local", *KINDS),
        help="local: ports of this machine's loopback (the default); namespaces, docker: nodes with addresses of their own, for `fault`",
    )
    add("down", "stop the cluster", down)
    inside = add("exec", "run a command beside a cluster of namespaces, from where its brokers can be reached", execute)
    inside.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="with its arguments")
    add("status", "who is alive, who is the controller, who leads what", status).add_argument("--json", action="store_true")
    _add_topics(add("topics", "list, create or delete topics", list_topics))
    add("elect", "give leadership back to preferred leaders", elect).add_argument("topics", nargs="*", metavar="TOPIC", help="default: all")
    log = add("logs", "what the brokers wrote", logs)
    log.add_argument("--node", type=number_between(1, MAX_NODES))
    log.add_argument("--lines", type=number_between(0, 1_000_000), default=20, help="how many of each node's last lines (default 20)")
    log.add_argument("--follow", action="store_true", help="go on as they write more, until Ctrl-C")
    return parser


def _add_topics(topics: argparse.ArgumentParser) -> None:
    commands = topics.add_subparsers(metavar="create|delete")
    create = commands.add_parser("create", prog=f"{topics.prog} create", description="create a topic")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--partitions", type=number_between(1, 100_000), help="default: the cluster's setting")
    create.add_argument("--replicas", type=number_between(1, MAX_NODES), help="default: the cluster's setting")
    create.add_argument("--config", action="append", default=[], metavar="NAME=VALUE")
    create.set_defaults(command=create_topic)
    delete = commands.add_parser("delete", prog=f"{topics.prog} delete", description="delete a topic")
    delete.add_argument("name", metavar="NAME")
    delete.set_defaults(command=delete_topic)
    for parser in (create, delete):
        _add_data(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", default=argparse.SUPPRESS, metavar="DIR", help=f"where the cluster lies (default ./{DEFAULT_DATA})")
