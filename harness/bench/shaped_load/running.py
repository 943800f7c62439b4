"""A load from its plan to its report: on a cluster of ours that comes and goes with it, or on brokers that somebody has.

On the latter nothing is changed but one topic, which is made if it is not there, and is left: it may be wanted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.bench.broker_metrics import messages_appended
from harness.bench.shaped_load.locust_process import LocustProcess
from harness.bench.shaped_load.outcome import LoadOutcome, read_outcome
from harness.bench.shaped_load.plan import LoadPlan, locust_command
from harness.bench.shaped_load.report import write_report
from harness.errors import EnvironmentFault
from harness.run.folder import fresh_folder
from harness.systems.admin import connect
from harness.systems.free_ports import free_ports
from harness.systems.local_cluster import LocalCluster

NODES = 3
PARTITIONS = 6
TOPIC = "highwater-load"
_AFTER_S = 120.0


def run_shaped_load(
    plan: LoadPlan,
    results: Path,
    *,
    bootstrap: str | None = None,
    topic: str = TOPIC,
    nodes: int = NODES,
    ui: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> LoadOutcome:
    """Without `bootstrap` a cluster of so many brokers of ours. Ctrl-C ends it in order: what there is by then is reported."""
    folder = fresh_folder(results, "bench-load")
    if bootstrap is not None:
        _make_topic(bootstrap, topic)
        return _finished(plan, _drive(plan, bootstrap, topic, folder, ui=ui, tell=tell))
    with (
        tempfile.TemporaryDirectory(prefix="highwater-bench-", ignore_cleanup_errors=True) as name,
        LocalCluster.create(Path(name) / "cluster", nodes, settings={"log.level": "warning"}) as cluster,
    ):
        _make_topic(cluster.bootstrap, topic)
        tell(f"{nodes} brokers on this machine: {cluster.bootstrap}")
        outcome = _drive(plan, cluster.bootstrap, topic, folder, ui=ui, tell=tell)
        return _finished(plan, replace(outcome, appended=messages_appended(cluster)))


def _drive(plan: LoadPlan, bootstrap: str, topic: str, folder: Path, *, ui: bool, tell: Callable[[str], None]) -> LoadOutcome:
    port = free_ports(1)[0] if ui else None
    process = LocustProcess(locust_command(plan, bootstrap, topic, folder, port), folder)
    interrupted = False
    try:
        tell(f"locust: {plan.shape}, up to {plan.users} producers of {plan.rate:g} messages a second, {plan.seconds} s")
        if port is not None:
            tell(f"its pages: http://127.0.0.1:{port} until Ctrl-C")
        process.wait(None if ui else plan.seconds + plan.delivery_timeout + _AFTER_S)
    except KeyboardInterrupt:
        interrupted = not ui
        tell("ending")
    finally:
        process.end()
    try:
        return replace(read_outcome(folder), interrupted=interrupted)
    except EnvironmentFault:
        if interrupted:
            raise KeyboardInterrupt from None
        raise


def _finished(plan: LoadPlan, outcome: LoadOutcome) -> LoadOutcome:
    write_report(plan, outcome)
    return outcome


def _make_topic(bootstrap: str, topic: str) -> None:
    with connect(bootstrap) as admin:
        if not any(state.topic == topic for state in admin.partitions()):
            admin.create_topic(topic, PARTITIONS, -1, {})
