"""Figures of strikes that are known beforehand: what was lost belongs to its strike, latencies are taken together, not averaged."""

import numpy as np
import pytest

from harness.bench.under_faults.dips import SECOND
from harness.bench.under_faults.figures import Span, Spread, calm_latency, kind_figures, latency_of, spread, strikes_of
from harness.bench.under_faults.sends import Sends

RATE = 1000
ENDS = 30 * SECOND
FAULTS = [Span("kill", 5 * SECOND, 8 * SECOND), Span("kill", 15 * SECOND, 18 * SECOND), Span("pause", 25 * SECOND, 27 * SECOND)]


def sends(silences=(), lost=(), never=()):
    """Due once a millisecond, acknowledged 2 ms later or when the silence it fell into ended; seconds of those lost, and never answered."""
    due = np.arange(0, ENDS, SECOND // RATE, dtype=np.int64)
    acknowledged = due + 2_000_000
    for start, end in silences:
        acknowledged[(due >= start * SECOND) & (due < end * SECOND)] = end * SECOND
    acknowledged[np.isin(due // SECOND, never)] = -1
    return Sends(due, acknowledged, np.isin(due, [round(second * SECOND) for second in lost]))


def test_each_strike_has_its_own_dip():
    found = strikes_of(sends([(5, 7)]), FAULTS, ENDS)
    assert [round(strike.struck.depth, 2) for strike in found] == [1.0, 0.0, 0.0]
    assert found[0].struck.back_s == pytest.approx(2.0, abs=0.15)
    assert found[0].rate_before == RATE and found[0].calm_depth == 0.0


def test_a_dip_that_the_heal_makes_is_told_apart():
    found = strikes_of(sends([(18.5, 19.5)]), FAULTS, ENDS)
    assert (found[1].struck.depth, found[1].healed.depth) == (0.0, 1.0)
    assert found[1].healed.back_s == pytest.approx(1.5, abs=0.15)


def test_a_lost_message_belongs_to_the_strike_it_was_due_near():
    found = strikes_of(sends(lost=[4.999, 11.4, 11.6, 14.9, 29.0]), FAULTS, ENDS)
    assert [strike.lost for strike in found] == [2, 2, 1]


def test_messages_never_acknowledged_are_counted_and_have_no_latency():
    found = sends(never=[6])
    strikes = strikes_of(found, FAULTS, ENDS)
    figures = kind_figures("kill", strikes, found, FAULTS, ENDS)
    assert [strike.unacknowledged for strike in strikes] == [1000, 0, 0] and figures.unacknowledged == 1000
    assert figures.latency.samples == 2 * 10 * RATE - 1000


def test_latencies_of_all_strikes_of_a_kind_are_one_distribution():
    found = sends([(5, 7)])
    figures = kind_figures("kill", strikes_of(found, FAULTS, ENDS), found, FAULTS, ENDS)
    assert figures.latency.samples == 20 * RATE and figures.latency.p50 == 2.0
    assert figures.latency.p99 == pytest.approx(1800, abs=10), "a tenth of the messages waited up to two seconds"
    assert figures.latency.most == 2000.0 and figures.strikes == 2
    assert calm_latency(found, FAULTS).most == 2.0


def test_messages_under_way_when_a_fault_strikes_are_none_of_the_calm():
    found = sends([(4.9, 7)])
    assert calm_latency(found, FAULTS).most == 2.0


def test_a_depth_counts_from_what_was_due_where_old_messages_are_caught_up_with():
    """A silence of two seconds ends just before the second fault, during which half of the messages are acknowledged."""
    found = sends([(11, 13.5)])
    acknowledged = np.where((found.due >= 15 * SECOND) & (found.due % (2 * SECOND // RATE) == 0), -1, found.acknowledged)
    strike = strikes_of(Sends(found.due, acknowledged, found.lost), FAULTS, ENDS)[1]
    assert strike.rate_before > 1.25 * RATE and strike.struck.depth == pytest.approx(0.5, abs=0.01)


def test_a_p999_needs_a_hundred_thousand_samples():
    assert latency_of(np.ones(99_999)).p999 is None
    assert latency_of(np.ones(100_000)).p999 == 1.0
    assert latency_of(np.empty(0)).p50 is None


def test_a_spread_says_how_many_have_no_figure():
    assert spread([3.0, None, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 1)
    assert spread([None]) == Spread(None, None, None, 1)
