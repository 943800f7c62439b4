"""Locust itself against a real broker: what it counts is what the broker counts, and what the client is told is a failed request."""

import json
import os
import urllib.request

import pytest

from harness.bench.broker_metrics import messages_appended
from harness.bench.shaped_load import LoadPlan, run_shaped_load
from harness.bench.shaped_load.locust_process import LocustProcess
from harness.bench.shaped_load.outcome import read_outcome
from harness.bench.shaped_load.plan import locust_command
from harness.errors import EnvironmentFault
from harness.systems.admin import connect
from harness.systems.free_ports import free_ports
from harness.systems.local_cluster import LocalCluster
from nemesis.fault import until

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster.create(tmp_path_factory.mktemp("load") / "cluster", 1) as running:
        yield running


def test_every_message_is_a_request_and_the_broker_counts_the_same(cluster, tmp_path):
    before = messages_appended(cluster)
    plan = LoadPlan("step", users=4, seconds=4, rate=100, record_bytes=200)
    found = run_shaped_load(plan, tmp_path, bootstrap=cluster.bootstrap, topic="counted")
    produced, consumed = found.of("produce"), found.of("consume")
    assert produced.failures == 0 and found.errors == ()
    assert produced.count == messages_appended(cluster) - before > 0
    assert produced.bytes == 200 * produced.count
    assert consumed.count <= produced.count and consumed.failures == 0
    assert sum(one.produced for one in found.seconds) == produced.count
    assert max(one.users for one in found.seconds) <= plan.users + plan.consumers
    assert {"report.md", "report.html", "report.json"} <= {path.name for path in found.folder.iterdir()}
    assert f"{produced.count:,}" in (found.folder / "report.md").read_text()


def test_what_a_broker_refuses_is_a_failed_request_and_is_not_stored(cluster, tmp_path):
    with connect(cluster.bootstrap) as admin:
        admin.create_topic("narrow", 1, 1, {"max.message.bytes": "200"})
    before = messages_appended(cluster)
    plan = LoadPlan("flat", users=1, seconds=2, rate=50, record_bytes=2000, consumers=0)
    found = run_shaped_load(plan, tmp_path, bootstrap=cluster.bootstrap, topic="narrow")
    assert found.of("produce").failures == found.of("produce").count > 0
    assert found.acknowledged == 0 == messages_appended(cluster) - before
    assert [error.kind for error in found.errors] == ["produce"] and "MSG_SIZE_TOO_LARGE" in found.errors[0].error
    assert sum(error.times for error in found.errors) == found.failures


@pytest.mark.parametrize("pages", [False, True])
def test_ended_before_its_time_it_leaves_whole_results_and_no_process(cluster, tmp_path, pages):
    with connect(cluster.bootstrap) as admin:
        admin.create_topic(f"endless-{pages}", 1, 1, {})
    before = messages_appended(cluster)
    port = free_ports(1)[0] if pages else None
    command = locust_command(LoadPlan("flat", users=2, seconds=3600, rate=50), cluster.bootstrap, f"endless-{pages}", tmp_path, port)
    process = LocustProcess(command, tmp_path)
    try:
        assert until(lambda: messages_appended(cluster) > before, PATIENCE_S)
        if port is not None:
            assert until(lambda: {"produce", "consume"} <= requests_on_page(port), PATIENCE_S), "its pages show both kinds"
    finally:
        process.end()
    found = read_outcome(tmp_path)
    assert found.acknowledged == found.of("produce").count == messages_appended(cluster) - before
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def requests_on_page(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats/requests", timeout=PATIENCE_S) as page:
        return {row["method"] for row in json.load(page)["stats"] if row["num_requests"] > 0}


def test_a_locust_that_fails_is_told_with_its_last_words(tmp_path):
    process = LocustProcess(["sh", "-c", "echo it hurts; exit 3"], tmp_path)
    with pytest.raises(EnvironmentFault, match="ended with 3: it hurts"):
        process.wait(PATIENCE_S)


def test_one_that_does_not_end_is_ended(tmp_path):
    process = LocustProcess(["sh", "-c", "exec sleep 3600"], tmp_path)
    with pytest.raises(EnvironmentFault, match="did not end within"):
        process.wait(0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
