"""`./highwater cluster` on namespaces or containers: brokers with addresses of their own, which faults can strike.

Timers are the short ones of runs: whoever takes such a cluster wants to see it fail over, and not to wait for it.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

from harness.cli.table import format_table
from harness.cli.terminations import terminations_as_interrupts
from harness.errors import DONE, ENVIRONMENT
from harness.nodes.namespaces import NamespaceNodes
from harness.systems.node_cluster import NodeCluster


def up(data: Path, kind: str, count: int | None, *, detached: bool) -> int:
    from harness.scenarios.broker_settings import with_short_timers

    with terminations_as_interrupts():
        cluster: NodeCluster | None = None
        try:
            cluster = NodeCluster.up(data, kind, count, with_short_timers({}), detached=detached)
            _introduce(cluster, data)
            if detached:
                print(f"detached; `./highwater cluster down --data {data}` stops it")
                return DONE
            print("Ctrl-C stops it", flush=True)
            while cluster.nodes.alive():
                time.sleep(0.5)
            print("its nodes have ended")
            return ENVIRONMENT
        except KeyboardInterrupt:
            print("stopping", flush=True)
            return _stop(NodeCluster.open(data)) if cluster is not None and cluster.nodes.alive() else DONE


def down(data: Path) -> int:
    if not NodeCluster.running_in(data):
        print(f"the cluster in {data} is not running")
        return DONE
    return _stop(NodeCluster.open(data))


def status(data: Path, *, as_json: bool) -> int:
    cluster = NodeCluster.open(data)
    led = Counter(found.leader for found in cluster.system.leaders().values())
    rows = [
        {"node": node.name, "address": node.address, "up": cluster.system.is_up(node.name), "leads": led[node.name]}
        for node in cluster.nodes.nodes
    ]
    controller = cluster.system.controller()
    if as_json:
        print(json.dumps({"controller": controller, "bootstrap": cluster.system.bootstrap, "brokers": rows}))
        return DONE
    print(f"controller: {controller or 'none'}\n")
    print(
        format_table(["node", "address", "up", "leads"], [[r["node"], r["address"], "yes" if r["up"] else "no", r["leads"]] for r in rows])
    )
    return DONE


def _introduce(cluster: NodeCluster, data: Path) -> None:
    print(f"bootstrap={cluster.system.bootstrap}")
    print(f"reached from inside: {reached(cluster, data)}")
    print(f"struck by: `./highwater fault partition --data {data} --target leader --for 10`", flush=True)


def reached(cluster: NodeCluster, data: Path) -> str:
    if isinstance(cluster.nodes, NamespaceNodes):
        return f"`./highwater cluster exec --data {data} -- COMMAND`"
    return f"`docker exec -it highwater-{cluster.nodes.run_id}-client COMMAND`, and from this machine"


def _stop(cluster: NodeCluster) -> int:
    killed = cluster.down()
    if killed:
        print(f"brokers that did not stop in time and were killed: {', '.join(killed)}")
        return ENVIRONMENT
    print("stopped")
    return DONE
