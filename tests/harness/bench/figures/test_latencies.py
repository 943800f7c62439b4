"""Latencies: percentiles of a known distribution, merged and not averaged, and told only where samples stand behind them."""

import numpy as np
import pytest

from harness.bench.figures.latencies import Latencies


def test_percentiles_are_those_of_a_known_distribution():
    """Exponential: the p-th percentile is -ln(1 - p) times the mean."""
    samples = (np.random.default_rng(1).exponential(10_000, 1_000_000)).astype(np.int64)
    found = Latencies.of(samples)
    assert found.samples == 1_000_000
    for percent in (50.0, 75.0, 95.0, 99.0, 99.9):
        assert found.percentile_ms(percent) == pytest.approx(-np.log(1 - percent / 100) * 10, rel=0.02)
    assert found.mean_ms == pytest.approx(10, rel=0.01)


def test_merging_is_as_if_all_had_been_one():
    """Two rounds of which one was slow: the mean of their p99 would be another number."""
    fast, slow = np.full(99_000, 1_000), np.full(1_500, 500_000)
    merged = Latencies.merged([Latencies.of(fast).encoded(), Latencies.of(slow).encoded()])
    assert merged.samples == 100_500
    assert merged.percentile_ms(99.0) == pytest.approx(500, rel=0.01)
    assert merged.percentile_ms(50.0) == pytest.approx(1, rel=0.01)
    assert merged.most_ms == pytest.approx(500, rel=0.01)


def test_rare_percentiles_are_told_from_enough_samples_upwards():
    assert Latencies.of(np.arange(1, 100_000)).percentile_ms(99.9) is None
    assert Latencies.of(np.arange(1, 100_001)).percentile_ms(99.9) == pytest.approx(99.9, rel=0.01)
    assert Latencies.of(np.arange(1, 101)).percentile_ms(99.0) is None


def test_the_curve_ends_where_samples_do():
    short, long = (Latencies.of(np.arange(1, count + 1)).curve()[-1][0] for count in (100, 1_000_000))
    assert short == 90.0 and long == 99.999


def test_no_samples_are_no_latency():
    nothing = Latencies.of(np.empty(0, np.int64))
    assert (nothing.samples, nothing.percentile_ms(50.0), nothing.mean_ms, nothing.most_ms) == (0, None, None, None)
    assert Latencies(nothing.encoded()).samples == 0 and not nothing.curve()


def test_answers_are_the_librarys_own():
    found = Latencies.of((np.random.default_rng(2).lognormal(8, 2, 20_000)).astype(np.int64))
    theirs = found._histogram
    for percent in (50.0, 75.0, 95.0, 99.0):
        assert found.percentile_ms(percent) == theirs.get_value_at_percentile(percent) / 1000
    assert found.mean_ms == pytest.approx(theirs.get_mean_value() / 1000, rel=0.001)
