"""What our brokers count themselves, summed up over a cluster: the other side of what a client says it did."""

from __future__ import annotations

import urllib.request

from harness.systems.local_cluster import LocalCluster

_PATIENCE_S = 30.0


def messages_appended(cluster: LocalCluster) -> int:
    """By leaders, since each broker was started."""
    return sum(counter(node.http_port, "produce_messages_total") for node in cluster.plan.nodes)


def counter(http_port: int, name: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/metrics", timeout=_PATIENCE_S) as page:
        lines = page.read().decode().splitlines()
    return next(int(float(line.split()[1])) for line in lines if line.startswith(f"highwater_{name} "))
