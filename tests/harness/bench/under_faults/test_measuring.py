"""From a run's files to its figures; and that the run itself is one that can take place."""

import json
from itertools import pairwise

import pytest

from harness.bench.under_faults import KILL, PARTITION, PAUSE, FaultedLoad, UnderFaults, measure_under_faults
from harness.bench.under_faults.measuring import figures_of
from harness.bench.under_faults.plan import scenario_for
from harness.bench.under_faults.report import HEAD, as_json, as_markdown, rows
from harness.errors import EnvironmentFault
from harness.scenarios.consistency import problems_in
from harness.scenarios.plan import planned_faults, with_seed
from tests.harness.bench.under_faults.recorded import RATE, record_run


def kill_in(found):
    figures = found.of(KILL)
    assert figures is not None
    return figures


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_plan_is_sound_and_no_fault_begins_before_the_last_is_over(acks):
    load = FaultedLoad(kills=3, others=2)
    scenario = with_seed(scenario_for(load, acks), 1)
    assert problems_in(scenario) == []
    planned = planned_faults(scenario)
    assert [fault.kind for fault in planned] == [KILL] * 3 + [PAUSE] * 2 + [PARTITION] * 2
    assert [str(fault.selector) for fault in planned] == ["leader"] * 3 + ["follower"] * 2 + ["leader"] * 2
    assert all(one.end < other.start for one, other in pairwise(planned))
    assert planned[-1].end < scenario.durations.time_limit


def test_ten_kills_of_one_acks_setting_take_about_two_minutes():
    assert FaultedLoad(kills=10, others=0).seconds <= 110


def test_figures_of_a_kill_with_losses(tmp_path):
    run = record_run(tmp_path, faults=[("kill", 3, 5)], silent=(3, 4), lost={590, 599}, never={700})
    found = figures_of(run, "1", RATE)
    kill = kill_in(found)
    assert (found.sent, found.acknowledged, round(found.rate)) == (2000, 1999, RATE)
    assert (kill.lost, kill.unacknowledged, kill.depth.median) == ((2,), 1, 1.0)
    assert kill.back_s.median == pytest.approx(1.0, abs=0.15) and kill.silence_s.median == pytest.approx(1.0, abs=0.02)
    assert found.calm.p50 == 5.0 and kill.latency.most == 1000.0
    assert found.of(PAUSE) is None and found.doubts == ()


def test_a_message_stored_twice_does_not_make_up_for_a_lost_one(tmp_path):
    from harness.history.recorder import Polled, Recorder
    from harness.history.schema import Phase

    record_run(tmp_path, faults=[("kill", 3, 5)], lost={590})
    with Recorder(tmp_path, 1) as again:
        again.phase = Phase.FINAL
        again.polled(2, 1, [Polled("t", 0, 5000, None, 3)], 1, 2)
    assert kill_in(figures_of(tmp_path, "all", RATE)).lost == (1,)


def test_a_load_that_was_not_kept_up_is_a_doubt(tmp_path):
    run = record_run(tmp_path, faults=[("kill", 3, 5)])
    assert figures_of(run, "1", RATE * 1.05).doubts == ()
    (doubt,) = figures_of(run, "1", RATE * 2).doubts
    assert "before 1 of 1 faults the load was not level (200 to 200 acknowledged a second of 400 due)" in doubt
    assert len(figures_of(run, "1", RATE / 2).doubts) == 1, "old messages are still being caught up with"


def test_a_run_without_a_fault_has_no_figures(tmp_path):
    with pytest.raises(EnvironmentFault, match="no fault took place"):
        figures_of(record_run(tmp_path), "1", RATE)


def test_the_report_has_a_row_a_kind_and_is_json_without_nan(tmp_path):
    run = record_run(tmp_path, faults=[("kill", 3, 5), ("pause", 7, 8)], silent=(7, 10), lost={590})
    found = UnderFaults(FaultedLoad(), 3.0, (figures_of(run, "1", RATE, ["the replicas were not equal"]),), 12.0)
    assert [row[1] for row in rows(found)] == ["none", "leader killed", "follower paused"]
    assert all(len(row) == len(HEAD) for row in rows(found))
    assert "never" in rows(found)[2][5], "a dip that did not end"
    text = as_markdown(found)
    assert "1 acknowledged messages lost in 1 leader kills" in text and "in doubt: the replicas were not equal" in text
    assert json.loads(as_json(found))["acks"][0]["kinds"][0]["lost"] == [1]


@pytest.mark.long
def test_each_acks_setting_on_a_real_cluster(tmp_path):
    found = measure_under_faults(FaultedLoad(kills=2, others=1, rate=1000), ("0", "1", "all"), tmp_path, verify=True)
    assert [one.acks for one in found.acks] == ["0", "1", "all"]
    for one in found.acks:
        assert one.doubts == () and [(figures.kind, figures.strikes) for figures in one.kinds] == [(KILL, 2), (PAUSE, 1), (PARTITION, 1)]
        assert one.checked is not None and one.checked.valid is True, one.checked
        assert min(strike.struck.silence_s for strike in one.strikes if strike.kind == KILL) > 0.2, (
            "nobody leads until the dead leader's session is over"
        )
    assert sum(figures_lost for figures in found.acks[2].kinds for figures_lost in figures.lost) == 0
