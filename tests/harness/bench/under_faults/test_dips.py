"""Dips that are known beforehand are found as deep and as long as they were made."""

import numpy as np
import pytest

from harness.bench.under_faults.dips import SECOND, Dip, dip_in, rate_of, silence

RATE = 1000


def steady(start_s, end_s, rate=RATE):
    return np.arange(int(start_s * rate), int(end_s * rate), dtype=np.int64) * (SECOND // rate)


def at(seconds):
    return round(seconds * SECOND)


def test_an_even_rate_has_no_dip():
    acknowledged = steady(0, 20)
    assert rate_of(acknowledged, at(1), at(3)) == RATE
    assert dip_in(acknowledged, at(5), at(10), RATE) == Dip(0.0, 0.001, 0.0)


def test_a_silence_with_the_burst_that_follows_it():
    burst = np.full(3000, at(8), dtype=np.int64)
    acknowledged = np.sort(np.concatenate([steady(0, 5), burst, steady(8, 20)]))
    dip = dip_in(acknowledged, at(5), at(12), RATE)
    assert (dip.depth, dip.back_s) == (1.0, 3.0)
    assert dip.silence_s == pytest.approx(3.0, abs=0.002)


def test_half_of_the_rate_for_two_seconds():
    acknowledged = np.sort(np.concatenate([steady(0, 6), steady(6, 8, RATE // 2), steady(8, 20)]))
    dip = dip_in(acknowledged, at(5), at(15), RATE)
    assert dip.depth == pytest.approx(0.5, abs=0.01)
    assert dip.back_s == pytest.approx(3.0, abs=0.15)
    assert dip.silence_s < 0.01


def test_a_dip_that_does_not_end_has_no_time_of_being_back():
    assert dip_in(steady(0, 5), at(5), at(12), RATE) == Dip(1.0, 7.0, None)


def test_a_dip_that_begins_in_the_last_second_is_none_of_the_window():
    assert dip_in(steady(0, 11.2), at(5), at(12), RATE).depth == 0.0
    assert dip_in(steady(0, 10.8), at(5), at(12), RATE).depth > 0.1


def test_a_dip_that_outlasts_the_fault_is_followed_until_it_is_over():
    acknowledged = np.concatenate([steady(0, 5), steady(9, 20)])
    assert dip_in(acknowledged, at(5), at(8), RATE).back_s is None
    assert dip_in(acknowledged, at(5), at(8), RATE, at(15)).back_s == 4.0


def test_what_comes_behind_the_window_is_not_looked_at_when_the_dip_is_over():
    acknowledged = np.concatenate([steady(0, 12), steady(14, 20)])
    assert dip_in(acknowledged, at(5), at(10), RATE, at(20)) == Dip(0.0, 0.001, 0.0)


def test_the_longest_silence_counts_from_the_borders_too():
    assert silence(np.array([at(3)]), at(1), at(4)) == 2.0
    assert silence(np.array([], dtype=np.int64), at(1), at(4)) == 3.0


def test_nothing_before_and_nothing_after_is_no_dip():
    assert dip_in(np.array([], dtype=np.int64), at(5), at(8), 0.0) == Dip(0.0, 3.0, 0.0)
