"""Runs whose verdict is known beforehand: losses that settings allow are seen and allowed, what they promise is kept, on Kafka as well."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.systems.choosing import refusal
from tests.harness.run.running import ROOT, SMALL, RunProcess

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("namespaces"), pytest.mark.timeout(1800)]

PATIENCE = 1200.0


@pytest.mark.parametrize("workload", ["log", "ordered"])
def test_a_run_without_faults_is_valid(tmp_path, workload):
    verdict = verdict_of(tmp_path, "calm", *SMALL, "--workload", workload, "--time-limit", "15")
    assert verdict["valid"] is True
    assert not any(anomaly["forbidden"] for anomaly in verdict["anomalies"].values())


def test_acknowledged_by_one_replica_is_lost_with_it_and_that_is_allowed(tmp_path):
    """Followers that are cut off have nothing of what the leader acknowledges until it is killed."""
    faults = ["--fault", "partition:leader-from-isr/name=cut/at=3/lasts=8,kill@as:cut/at=4.5/lasts=10"]
    flags = [*SMALL, "--acks", "1", "--no-idempotence", "--min-insync", "1", "--time-limit", "25", *faults]
    verdict = verdict_of(tmp_path, *flags)
    assert verdict["valid"] is True
    assert verdict["anomalies"]["lost"]["count"] > 0
    assert not verdict["anomalies"]["lost"]["forbidden"]


def test_an_unclean_election_loses_what_was_acknowledged_and_breaks_the_promise_where_one_was_made(tmp_path):
    verdict = verdict_of(tmp_path, "breaker-unclean-election", "--seed", "1")
    assert verdict["valid"] is True
    assert verdict["anomalies"]["lost"]["count"] > 0
    run = (tmp_path / "latest").resolve()
    code, stated = check(run, "--promise", "unclean=false")
    assert (code, stated["valid"]) == (1, False)
    assert stated["anomalies"]["lost"]["forbidden"]


def test_the_default_run_is_valid_on_apache_kafka(tmp_path):
    reason = refusal("kafka", "namespaces")
    if reason:
        pytest.skip(reason)
    verdict = verdict_of(tmp_path, "--system", "kafka", "--recovery", "300")
    assert verdict["valid"] is True


def verdict_of(results: Path, *arguments: str) -> dict[str, Any]:
    with RunProcess(results, *arguments) as run:
        assert run.end(PATIENCE) == 0, run.text
    verdict: dict[str, Any] = json.loads((run.folder / "verdict.json").read_text())
    return verdict


def check(run: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "harness.cli", "check", str(run), "--json", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    return ended.returncode, json.loads(ended.stdout)
