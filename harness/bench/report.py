"""The outcome of a run as tables for people and as JSON for programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from harness.bench.against_floor import AgainstFloor, Pass
from harness.bench.goals import Goal
from harness.bench.idle import Idle
from harness.bench.outage import Outage
from harness.bench.replication_cost import ReplicationCost
from harness.bench.throughput import Row

PLAIN_WIDTH = 150
_VERDICTS = {True: "met", False: "not met", None: "-"}


@dataclass(frozen=True, slots=True)
class Report:
    client: str
    nodes: int
    rows: Sequence[Row]
    floor: AgainstFloor
    cost: ReplicationCost | None
    idle: Idle
    outages: Sequence[Outage]
    goals: Sequence[Goal]
    seconds: float


def show(report: Report) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH, color_system=None)
    console.print(f"{report.nodes} brokers on this machine; client: {report.client}; {report.seconds:.0f} s", highlight=False)
    for table in (_rows(report), _others(report), _goals(report)):
        console.print(table)


def as_json(report: Report) -> dict[str, Any]:
    """NaN is null, since JSON has none."""
    goals = [asdict(goal) | {"met": goal.met} for goal in report.goals]
    cleaned: dict[str, Any] = _without_nan(asdict(report) | {"goals": goals})
    return cleaned


def number(value: float) -> str:
    """Three digits that count."""
    if math.isnan(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _rows(report: Report) -> Table:
    head = ["replicas", "acks", "bytes", "produce MB/s", "msg/s", "CPU s/GB", "user", "behind MB"]
    head += ["fetch MB/s", "single req/s", "p50 ms", "p99 ms", "peak MB"]
    table = _table("librdkafka; single-message requests from a raw socket; p50 and p99 at half load", head)
    for row in report.rows:
        cpu = row.cpu_per_gb
        values = (row.produce_mb_s, row.messages_s, cpu.user + cpu.system, cpu.user, row.behind_mb, row.fetch_mb_s, row.single_s)
        figures = [number(value) for value in (*values, row.p50_ms, row.p99_ms, row.peak_mb)]
        table.add_row(str(row.replicas), row.acks, str(row.size), *figures)
    return table


def _others(report: Report) -> Table:
    idle = report.idle
    table = _table("and", ["what", "reached"], wide_first=True)
    table.add_row("64 KiB batches from a raw socket, 1 replica, acks=1", _pass(report.floor.broker))
    table.add_row("the floor", _pass(report.floor.floor))
    if report.cost is not None:
        table.add_row("1 replica, acks=1, 1 KiB, in turns", " ".join(number(value) for value in report.cost.one) + " MB/s")
        table.add_row("3 replicas, acks=all, 1 KiB, in turns", " ".join(number(value) for value in report.cost.three) + " MB/s")
    start = f"{idle.listening_s:.2f} s until it listens, {idle.running_s:.2f} s until it serves, {idle.start_cpu_s:.2f} s of CPU"
    table.add_row(f"start with {idle.partitions} idle partitions after a clean stop", start)
    for outage in report.outages:
        if outage.lost:
            table.add_row(f"messages never acknowledged: {outage.how}", str(outage.lost))
    return table


def _goals(report: Report) -> Table:
    table = _table("goals", ["what", "reached", "wanted", ""], wide_first=True)
    for goal in report.goals:
        sign = ">=" if goal.at_least else "<"
        table.add_row(goal.what, f"{number(goal.reached)} {goal.unit}", f"{sign} {number(goal.wanted)} {goal.unit}", _VERDICTS[goal.met])
    return table


def _pass(one: Pass) -> str:
    return f"{number(one.mb_s)} MB/s, {one.cpu_per_gb.user:.2f} s user + {one.cpu_per_gb.system:.2f} s system a GB"


def _table(title: str, head: Sequence[str], *, wide_first: bool = False) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE if sys.stdout.isatty() else None, pad_edge=False)
    for position, name in enumerate(head):
        table.add_column(name, justify="left" if wide_first and position != 1 else "right", no_wrap=wide_first)
    return table


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value
