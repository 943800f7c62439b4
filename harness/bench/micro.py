"""`bench micro`: one cluster on this machine, one run, one report.

Client and brokers are processes of their own and share the machine's cores, so the figures are those of the pair. Nothing is left
behind: data lies in a temporary directory, and every process ends with this one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness.bench.against_floor import measure_against_floor
from harness.bench.driver import Driver, make_driver
from harness.bench.effort import FULL, QUICK, Effort
from harness.bench.goals import judge
from harness.bench.idle import measure_idle
from harness.bench.outage import Outage, measure_outage
from harness.bench.replication_cost import measure_replication_cost
from harness.bench.report import Report, as_json, show
from harness.bench.side_by_side.quiet import touch_memory
from harness.bench.throughput import Row, measure_row
from harness.systems.local_cluster import LocalCluster

SESSION_S = 3.0
REPLICAS = 3
QUIET = {"log.level": "warning"}


def run_micro(nodes: int, *, quick: bool = False, json_path: Path | None = None) -> None:
    with tempfile.TemporaryDirectory(prefix="highwater-bench-", ignore_cleanup_errors=True) as name:
        report = measure(Path(name), nodes, QUICK if quick else FULL)
    show(report)
    if json_path is not None:
        json_path.write_text(json.dumps(as_json(report), indent=2) + "\n")


def measure(directory: Path, nodes: int, effort: Effort) -> Report:
    started = time.monotonic()
    driver = make_driver(directory)
    _say(f"client: {driver.name}")
    touch_memory(directory / "touched", effort.touch_bytes)
    idle = measure_idle(directory / "idle", effort.idle_partitions)
    _say(f"{idle.partitions} idle partitions: {idle.resident_mb:.0f} MB, start {idle.running_s:.2f} s")
    with LocalCluster.create(directory / "cluster", nodes, settings=QUIET) as cluster:
        floor = measure_against_floor(cluster, effort, directory)
        _say(f"64 KiB batches: {floor.broker.mb_s:.0f} MB/s, the floor {floor.floor.mb_s:.0f}")
        cost = measure_replication_cost(cluster, driver, effort) if nodes >= REPLICAS else None
        _say(
            f"3 replicas, acks=all against 1 replica, acks=1: {cost.ratio:.2f}" if cost is not None else "no replication with so few nodes"
        )
        rows = list(_rows(cluster, driver, effort))
        outages = list(_outages(cluster, driver, effort))
    goals = judge(rows, floor, cost, idle, outages, SESSION_S)
    return Report(driver.name, nodes, rows, floor, cost, idle, outages, goals, time.monotonic() - started)


def _rows(cluster: LocalCluster, driver: Driver, effort: Effort) -> Iterator[Row]:
    for replicas in sorted({1, min(REPLICAS, len(cluster.ids))}):
        for acks in effort.acks:
            for size in effort.sizes:
                row = measure_row(cluster, driver, effort, replicas, acks, size)
                _say(f"{replicas} replicas, acks={acks}, {size} bytes: {row.produce_mb_s:.0f} MB/s in, {row.fetch_mb_s:.0f} out")
                yield row


def _outages(cluster: LocalCluster, driver: Driver, effort: Effort) -> Iterator[Outage]:
    """There is nobody to take over where fewer than three replicas are."""
    for how, controller in effort.outages if len(cluster.ids) >= REPLICAS else ():
        outage = measure_outage(cluster, driver, how, controller, SESSION_S)
        _say(f"{'leader and controller' if controller else 'leader'} {how}: {outage.silence_ms:.0f} ms")
        yield outage


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
