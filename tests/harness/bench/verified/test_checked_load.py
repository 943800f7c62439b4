"""A recorded load on a real broker, and that a loss is never reported as good.

One test starts Spark, on a small history; the load's own is judged by the reference checker, for Spark takes its time on a busy machine.
"""

import statistics

import pytest

from analysis.by_reference import judge_by_reference
from harness.bench.broker_metrics import messages_appended
from harness.bench.under_faults import FaultedLoad, UnderFaults
from harness.bench.verified import Checked, Verified, VerifiedLoad, check_run, checked_load, verify_load
from harness.bench.verified.timed_worker import RECORDED, time_worker
from harness.cli.bench_faults import exit_code
from harness.errors import CANNOT_TELL, DONE, FAILED, EnvironmentFault
from harness.history.readers import open_history
from harness.systems.local_cluster import LocalCluster
from tests.harness.bench.under_faults.recorded import record_run


def by_reference(run):
    verdict = judge_by_reference(run)
    return Checked(verdict.valid if isinstance(verdict.valid, bool) else None, verdict.why, 0.0)


def test_a_load_is_recorded_read_back_checked_and_compared_with_one_that_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(checked_load, "check_run", by_reference)
    with LocalCluster.create(tmp_path / "cluster", 1) as cluster:
        load = VerifiedLoad("all", partitions=2, replicas=1, min_insync=1, record_bytes=200, seconds=1.0, pairs=1)
        found = verify_load(load, cluster.bootstrap, tmp_path / "verified")
        appended = messages_appended(cluster)
    assert found.checked.valid is True, found.checked.why
    assert found.sent == found.acknowledged > 0 and found.lost == 0
    assert open_history(tmp_path / "verified" / "run").rows > found.sent, "the final reads are in it, too"
    assert appended > found.sent, "the load without a recorder was sent as well"
    assert len(found.recorded_rates) == len(found.bare_rates) == 1 and min(found.recorded_rates + found.bare_rates) > 0


def test_a_run_that_lost_a_message_is_never_good(tmp_path):
    checked = check_run(record_run(tmp_path, acks="all", faults=[("kill", 3, 5)], lost={590}))
    assert checked.valid is False and any("lost" in sentence for sentence in checked.why)
    assert {"verdict.json", "report.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(("valid", "code"), [(True, DONE), (False, FAILED), (None, CANNOT_TELL)])
def test_the_verdict_decides_theexit_code(valid, code):
    found = UnderFaults(FaultedLoad(), 3.0, (), 1.0)
    assert exit_code(found, [verified(checked=Checked(valid, (), 1.0))]) == code


def test_the_cost_is_that_of_pairs_and_not_of_means():
    found = verified(recorded=(90.0, 45.0, 400.0), bare=(100.0, 50.0, 500.0))
    assert found.cost == pytest.approx(1 - statistics.median((0.9, 0.9, 0.8)))


def test_a_worker_that_ends_at_once_is_told_with_its_words(tmp_path):
    with pytest.raises(EnvironmentFault, match=r"ended before its time: worker 0: .*nowhere"):
        time_worker(RECORDED, tmp_path / "nowhere", 0, 1.0)


def verified(*, recorded=(1.0,), bare=(1.0,), checked=None):
    return Verified("all", "run", 1, 1, 0, recorded, bare, checked or Checked(True, (), 1.0))
