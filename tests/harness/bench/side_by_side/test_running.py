"""A short benchmark of our own broker from end to end: units, counts and files, never speed."""

import csv
import json

import pytest

from harness.bench.figures.latencies import Latencies
from harness.bench.figures.results import read_result
from harness.bench.figures.summary import Summary
from harness.bench.reports.writing import write_reports
from harness.bench.side_by_side.running import run_suite
from harness.bench.suites.suite import build_suite
from harness.errors import UserMistake

pytestmark = pytest.mark.timeout(600)
ROUNDS = 2
SHORT = {
    "name": "short",
    "description": "for a test",
    "method": {
        "rounds": ROUNDS,
        "load_seconds": 0.3,
        "most_mb": 20,
        "least_segments": 1,
        "latency_seconds": 0.5,
        "latency_shares": [0.5],
        "latency_rates": [400],
        "search_seconds": 0.3,
        "search_steps": 2,
        "steal_limit": 1.0,
        "warm_up": 0,
        "warm_up_jit": 0,
        "starts": 1,
    },
    "matrix": [
        {
            "acks": ["0", "1", "all"],
            "partitions": 2,
            "segment_bytes": 1 << 20,
            "producers": 2,
            "consumers": 2,
            "measure": ["throughput", "latency", "sustainable"],
        }
    ],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Its folder and its result."""
    said = []
    suite = build_suite(SHORT, "short.toml")
    folder, result = run_suite(suite, ["highwater"], tmp_path_factory.mktemp("results"), warm_up_s=None, kafka_home=None, say=said.append)
    write_reports(folder, result)
    assert any("about" in line and ("seconds" in line or "minutes" in line) for line in said[:3]), said
    return folder, result


def test_every_case_has_its_rounds(finished):
    _folder, result = finished
    assert sorted((one.case, one.round) for one in result.loads) == [(case, number) for case in range(3) for number in (1, 2)]
    assert len(result.latencies) == 3 * ROUNDS * 2 and len(result.sustained) == 3 and len(result.starts) == 1


def test_units_fit_together(finished):
    _folder, result = finished
    for one in result.loads:
        assert one.bytes == one.messages * 1024 >= 2 * (1 << 20)
        assert 0 < one.seconds <= one.replicated_seconds
        assert one.segments == pytest.approx(one.bytes / 2 / (1 << 20)) and one.segments >= 1
        assert one.written >= 3 * one.bytes
        assert one.broker_cpu.user + one.broker_cpu.system > 0 and one.client_cpu > 0
        assert 0 <= one.waited <= 1 and 0 <= one.disturbance.steal <= 1
        assert len(one.peak) == 3 and all(5e6 < peak < 1e9 for peak in one.peak)
        assert (one.behind == 0) or result.cases[one.case].acks != "all"


def test_no_message_is_lost(finished):
    """What was acknowledged is read back, warm-up and all, and a load at a fixed rate reaches its consumers."""
    _folder, result = finished
    for one in result.loads:
        assert one.reading.messages == one.messages + 2 * 2 and one.reading.bytes == one.reading.messages * 1024
    for latency in result.latencies:
        assert latency.unanswered == latency.unread == 0


def test_counts_are_those_of_the_brokers_own_metrics(finished):
    _folder, result = finished
    [account] = result.lifetimes
    assert account.counted == account.messages
    assert account.messages > sum(one.messages for one in result.loads) + sum(one.messages for one in result.latencies)


def test_a_fixed_rate_is_kept_and_every_message_is_in_the_histograms(finished):
    _folder, result = finished
    for one in result.latencies:
        expected = one.rate * 0.5
        assert one.messages == pytest.approx(expected, abs=2)
        assert Latencies(one.end_to_end).samples == one.messages
        assert Latencies(one.publish).samples == (0 if result.cases[one.case].acks == "0" else one.messages)
    assert {one.rate for one in result.latencies if one.share is None} == {400.0}


def test_flushes_are_counted_where_there_is_a_compiler(finished):
    _folder, result = finished
    assert all((one.fsyncs is None) == (not result.c_client) for one in result.loads)


def test_the_folder_holds_every_form_of_the_report_and_nothing_of_the_work(finished):
    folder, result = finished
    names = {path.name for path in folder.iterdir()}
    assert names == {"result.json", "report.md", "report.html", "loads.csv", "latencies.csv", "open-messaging.json"}
    assert read_result(folder) == result
    assert folder.parent.name == "bench-short"
    rows = list(csv.DictReader((folder / "loads.csv").open()))
    assert len(rows) == 3 * ROUNDS
    assert all(float(row["mb_s"]) == pytest.approx(int(row["bytes"]) / float(row["replicated_seconds"]) / 1e6) for row in rows)
    told = json.loads((folder / "open-messaging.json").read_text())
    assert [one["workload"] for one in told] == Summary(result).names
    assert all(len(one["publishRate"]) == ROUNDS and one["messageSize"] == 1024 for one in told)


def test_an_unknown_system_is_told_before_anything_starts(tmp_path):
    suite = build_suite(SHORT, "short.toml")
    with pytest.raises(UserMistake, match="no system `no-such-revision`"):
        run_suite(suite, ["highwater", "no-such-revision"], tmp_path, warm_up_s=None, kafka_home=None, say=print)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_both_systems_are_measured_side_by_side(tmp_path):
    method = {**SHORT["method"], "rounds": 1, "latency_rates": []}
    table = {"acks": ["1", "all"], "partitions": 2, "segment_bytes": 1 << 20}
    suite = build_suite({**SHORT, "method": method, "matrix": [table]}, "short.toml")
    folder, result = run_suite(suite, ["highwater", "kafka"], tmp_path, warm_up_s=5.0, kafka_home=None, say=print)
    summary = write_reports(folder, result)
    assert [(one.case, one.system) for one in sorted(result.loads, key=lambda one: (one.case, one.system))] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    assert all(one.reading.messages == one.messages + 2 for one in result.loads)
    assert {one.rate for one in result.latencies if one.case == 0 and one.system == 0} == {
        one.rate for one in result.latencies if one.case == 0 and one.system == 1
    }
    assert summary.systems == ["highwater", "kafka"] and list(summary.ratios(0, 1))
    assert all(not warm_up.warm for warm_up in result.warm_ups)
    assert any("cut short" in remark for remark in summary.remarks())
