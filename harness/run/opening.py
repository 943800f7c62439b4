"""Which cluster a scenario means: one deployed for the run, or one that somebody else runs."""

from __future__ import annotations

from pathlib import Path

from harness.run.cluster import Cluster
from harness.run.deployment import Deployment
from harness.run.prepared import Prepared
from harness.run.visit import Visit
from harness.scenarios import Scenario


def open_cluster(prepared: Prepared, run_id: str, work: Path) -> Cluster:
    if prepared.scenario.system == "external":
        return Visit(prepared.scenario, run_id, work)
    return Deployment(prepared, run_id, work)


def described(scenario: Scenario) -> str:
    if scenario.system == "external":
        return f"topics of ours on the brokers at {','.join(scenario.bootstrap)}"
    return f"{scenario.nodes} nodes ({scenario.nodes_kind}), {scenario.system}"
