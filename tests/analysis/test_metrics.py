import pickle

import numpy as np
import pytest

from analysis.columns import Rows
from analysis.histogram import MOST_BINS
from analysis.metrics import LAG, SAMPLES_FOR_P999, measure, merge_all, summary
from harness.history.beside import PROVEN, Fault
from harness.history.schema import Function, Outcome, Phase
from tests.analysis.histories import MS, NAMES, S, poll, send, table


def about(value):
    return pytest.approx(value, rel=0.04)


def measured(*rows):
    return measure(Rows(table(*rows), NAMES))


def test_rates_are_by_operation_and_outcome_in_every_bin_from_first_to_last():
    found = measured(send(1, 0, 10 * MS), send(2, 0, 20 * MS), send(3, 0, 450 * MS, Outcome.INFO), poll(1, 0, 50 * MS))
    times, acknowledged = found.rates(Function.SEND)
    assert times.tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert acknowledged.tolist() == [20.0, 0.0, 0.0, 0.0, 0.0]
    assert found.rates(Function.SEND, Outcome.INFO)[1].tolist() == [0.0, 0.0, 0.0, 0.0, 10.0]
    assert found.rates(Function.POLL)[1].sum() == 10.0


def test_latency_counts_from_when_the_plan_wanted_it_where_the_plan_says_so():
    assert measured(send(1, 900 * MS, S)).percentiles(Function.SEND)["p50"] == about(100 * MS)
    assert measured(send(1, 900 * MS, S, intended=0)).percentiles(Function.SEND)["p50"] == about(S)


def test_what_never_ended_is_counted_and_has_no_latency():
    found = measured(send(1, 0, None, Outcome.INFO))
    assert found.count(Function.SEND, Outcome.INFO) == 1
    assert found.percentiles(Function.SEND, Outcome.INFO) == {}


def test_percentiles_over_time_are_of_each_bin_alone():
    found = measured(send(1, 0, 10 * MS), send(2, 0, 20 * MS), send(3, 210 * MS, 280 * MS))
    times, percentiles = found.percentiles_over_time(Function.SEND)
    assert len(times) == 3
    assert percentiles["p50"][0] == about(10 * MS) and percentiles["p99"][0] == about(20 * MS)
    assert np.isnan(percentiles["p50"][1]) and percentiles["p50"][2] == about(70 * MS)


def test_the_last_thousandth_is_told_only_where_there_are_samples_enough():
    one = measured(*(send(value, 0, MS) for value in range(100)))
    many = merge_all([one] * (SAMPLES_FOR_P999 // 100))
    assert "p99.9" not in one.percentiles(Function.SEND)
    assert many.percentiles(Function.SEND)["p99.9"] == about(MS)


def test_the_lag_of_readers_is_from_the_send_to_the_first_poll_before_the_final_reads():
    found = measured(
        send(1, 0, 10 * MS),
        poll(1, 0, 300 * MS),
        poll(1, 0, 800 * MS),
        send(2, 0, 10 * MS),
        poll(2, 0, 900 * MS, phase=Phase.FINAL),
        send(3, 0, 10 * MS, part=1),
        poll(3, 0, 500 * MS, part=2),
        poll(4, 0, 500 * MS),
    )
    assert found.count(LAG) == 1
    assert found.percentiles(LAG)["p50"] == about(300 * MS)


def test_with_many_polls_the_lag_is_taken_on_a_share_of_the_values(monkeypatch):
    monkeypatch.setattr("analysis.metrics.MOST_LAGS", 100)
    rows = [row for value in range(2000) for row in (send(value, 0, MS), poll(value, 0, 250 * MS))]
    found = measured(*rows)
    assert 0 < found.count(LAG) < 1000
    assert found.percentiles(LAG)["p99"] == about(250 * MS)


def test_causes_are_counted_by_error_name():
    found = measured(
        send(1, 0, S, Outcome.INFO, error=0), send(2, 0, S, Outcome.INFO, error=0), send(3, 0, S, Outcome.FAIL, error=1), send(4, 0, S)
    )
    assert found.causes == {("send", "info", "_MSG_TIMED_OUT"): 2, ("send", "fail", "_QUEUE_FULL"): 1}


def test_words_go_by_their_names_whatever_their_numbers():
    names = NAMES | {"outcome": ["info", "ok"], "f": ["poll", "send", "dance"]}
    found = measure(Rows(table(send(1, 0, S, Outcome.OK, f=1), send(2, 0, S, Outcome.OK, f=2)), names))
    assert found.count(Function.SEND, Outcome.INFO) == 1
    assert ("other", "info", "") in found.causes


def test_a_gap_lies_between_acknowledgements_and_a_partition_that_nobody_writes_to_has_none():
    found = measured(
        send(1, 0, MS),
        send(2, S, 1100 * MS, Outcome.INFO),
        send(3, 2 * S, 4 * S),
        send(4, 0, MS, part=1),
        poll(4, 9 * S, 9 * S, part=1),
    )
    (gap,) = found.gaps
    assert (gap.topic, gap.part, gap.start, gap.end, gap.given_up) == ("orders", 0, MS, 4 * S, False)


def test_a_partition_that_is_given_up_has_a_gap_that_says_so():
    found = measured(send(1, 0, MS), send(2, 5 * S, 9 * S, Outcome.INFO), send(3, 5 * S, None, Outcome.INFO))
    assert [(gap.start, gap.end, gap.given_up) for gap in found.gaps] == [(5 * S, 9 * S, True)]


def test_a_merge_is_the_measure_of_all_rows_and_does_not_grow_with_them():
    parts = [measured(*(send(value, part * S, part * S + value * MS, part=part) for value in range(1, 50))) for part in range(40)]
    whole = merge_all(parts)
    assert whole.count(Function.SEND) == 40 * 49
    assert merge_all(reversed(parts)).cells.keys.tolist() == whole.cells.keys.tolist()
    assert len(pickle.dumps(merge_all(parts * 20))) <= 1.1 * len(pickle.dumps(whole))


def test_a_week_takes_no_more_bins_than_a_minute():
    week = measured(*(send(value, value * 60 * S, value * 60 * S + MS) for value in range(7 * 24 * 60)))
    assert len(week.rates(Function.SEND)[0]) <= MOST_BINS
    assert week.count(Function.SEND) == 7 * 24 * 60


def test_kinds_of_operations_are_remembered():
    assert measured(send(1, 0, 1), poll(1, 0, 1)).operations == {"send", "poll"}


def test_the_summary_is_of_the_phase_under_load_and_tells_what_each_fault_did():
    fault = Fault(7, "kill", "one", ["n1"], S, 2 * S, 3 * S, "{}", "{}", PROVEN)
    found = summary(
        measured(
            send(0, 0, 20 * S, phase=Phase.WARM_UP),
            send(1, S, 1100 * MS),
            send(2, 4 * S, 5 * S),
            send(3, 4 * S, 5 * S, Outcome.INFO, error=0),
        ),
        "all",
        [fault],
    )
    assert found["acks"] == "all"
    assert found["sends"] == {"ok": 2, "fail": 0, "info": 1}
    assert found["acknowledged_per_second"] == pytest.approx(0.5, rel=0.05)
    assert found["faults"] == [
        {"id": 7, "unavailable": pytest.approx(3.9), "recovery": pytest.approx(2.0), "partitions": 1, "given_up": 0, "meanwhile": []}
    ]
    assert found["causes"] == [{"f": "send", "outcome": "info", "error": "_MSG_TIMED_OUT", "count": 1}]
    assert found["latency"]["ok"]["p50"] == about(0.1)


def test_an_empty_history_has_measures_that_say_nothing():
    found = measured()
    assert found.seconds == 0 and len(found.rates(Function.SEND)[0]) == 0
    assert len(found.percentiles_over_time(Function.SEND)[0]) == 0
    assert summary(found, "all")["acknowledged_per_second"] == 0
