"""What Locust leaves becomes our figures: nothing is dropped, and nothing is shown that nobody can know."""

import json
import math

import pytest

from harness.bench.shaped_load.outcome import ClientError, percentile, read_outcome
from harness.errors import EnvironmentFault

HEAD = "Timestamp,User Count,Type,Name,99%\n"


def entry(kind, *, requests, failures=0, times=None, per_second=None, failed=None):
    return {
        "method": kind,
        "num_requests": requests,
        "num_failures": failures,
        "total_content_length": requests * 100,
        "max_response_time": 60.2,
        "response_times": times or {},
        "num_reqs_per_sec": per_second or {},
        "num_fail_per_sec": failed or {},
    }


def write(folder, entries, history=HEAD, errors=()):
    (folder / "locust.json").write_text(json.dumps(entries))
    (folder / "locust_stats_history.csv").write_text(history)
    (folder / "locust_errors.json").write_text(json.dumps(list(errors)))


def test_percentiles_of_a_known_distribution():
    histogram = {float(value): 10 for value in range(1, 101)}
    assert [percentile(histogram, percent) for percent in (0, 50, 99, 99.9, 100)] == [1, 50, 99, 100, 100]
    assert math.isnan(percentile({}, 50))


def test_counts_failures_and_latencies_of_each_kind(tmp_path):
    write(tmp_path, [entry("produce", requests=100, failures=3, times={"5": 98, "60": 2}), entry("consume", requests=90)])
    found = read_outcome(tmp_path)
    produced = found.of("produce")
    assert (produced.count, produced.failures, produced.bytes, produced.p50, produced.p99, produced.max) == (100, 3, 10_000, 5, 60, 60.2)
    assert (found.acknowledged, found.failures, found.of("consume").count) == (97, 3, 90)


def test_a_p999_is_told_from_a_hundred_thousand_samples_on(tmp_path):
    write(tmp_path, [entry("produce", requests=99_999, times={"5": 99_999})])
    assert math.isnan(read_outcome(tmp_path).of("produce").p999)
    write(tmp_path, [entry("produce", requests=100_000, times={"5": 99_800, "70": 200})])
    assert read_outcome(tmp_path).of("produce").p999 == 70


def test_the_course_has_every_second_also_those_in_which_nothing_happened(tmp_path):
    course = HEAD + "100,2,produce,t,7\n100,2,,Aggregated,7\n103,5,,Aggregated,9\n"
    entries = [
        entry("produce", requests=30, per_second={"100": 10, "103": 20}, failed={"103": 4}),
        entry("consume", requests=9, per_second={"101": 9}),
    ]
    write(tmp_path, entries, course)
    found = read_outcome(tmp_path).seconds
    assert [(one.second, one.users, one.produced, one.consumed, one.failed) for one in found] == [
        (0, 2, 10, 0, 0),
        (1, 2, 0, 9, 0),
        (2, 2, 0, 0, 0),
        (3, 5, 20, 0, 4),
    ]
    assert found[0].p99_ms == 7 and math.isnan(found[3].p99_ms)


def test_what_clients_were_told_is_kept(tmp_path):
    write(tmp_path, [], errors=[{"request": "produce", "error": "_MSG_TIMED_OUT", "times": 7}])
    assert read_outcome(tmp_path).errors == (ClientError("produce", "_MSG_TIMED_OUT", 7),)


def test_without_results_the_log_is_named(tmp_path):
    with pytest.raises(EnvironmentFault, match=r"locust left no results.*locust\.log"):
        read_outcome(tmp_path)
