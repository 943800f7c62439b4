"""Intervals: they hold the truth as often as they say, shrink with rounds, and admit when they are too wide."""

import random

import pytest

from harness.bench.figures.intervals import paired_ratio, unpaired_ratio


def noisy(truth, rounds, spread, seed):
    chance = random.Random(seed)
    pairs = []
    for _ in range(rounds):
        minute = chance.lognormvariate(0, 0.5)
        pairs.append((truth * minute * chance.lognormvariate(0, spread), minute * chance.lognormvariate(0, spread)))
    return pairs


def test_a_ratio_of_pairs_is_blind_to_what_both_suffered():
    ratio = paired_ratio([(130.0, 100.0), (65.0, 50.0), (13.0, 10.0), (26.0, 20.0), (39.0, 30.0)])
    assert ratio.value == pytest.approx(1.3) and ratio.high / ratio.low < 1.001
    assert ratio.tells_apart and not ratio.too_wide


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    """Nominally 95 of 100; a bootstrap of five rounds gives somewhat less, of twenty nearly that."""
    for rounds, least in ((5, 0.84), (20, 0.9)):
        held = 0
        for seed in range(100):
            ratio = paired_ratio(noisy(1.3, rounds, 0.1, seed))
            held += ratio.low <= 1.3 <= ratio.high
        assert held / 100 >= least


def test_more_rounds_make_it_narrower():
    few, many = (paired_ratio(noisy(1.3, rounds, 0.2, 3)) for rounds in (5, 80))
    assert many.high / many.low < few.high / few.low


def test_no_difference_is_told_plainly():
    ratio = paired_ratio([(100.0, 101.0), (104.0, 100.0), (99.0, 103.0), (101.0, 100.0), (100.0, 98.0)])
    assert not ratio.tells_apart
    assert "no difference between a and b can be told" in ratio.in_words("a", "b")


def test_an_interval_too_wide_is_told_plainly():
    ratio = paired_ratio([(100.0, 30.0), (20.0, 90.0), (150.0, 40.0), (30.0, 70.0), (100.0, 100.0)])
    assert ratio.too_wide and "too wide to say anything" in ratio.in_words("a", "b")


def test_two_rounds_tell_nothing():
    ratio = paired_ratio([(200.0, 100.0), (210.0, 100.0)])
    assert not ratio.tells_apart and "too few" in ratio.in_words("a", "b")


def test_without_pairs_there_is_no_ratio():
    assert paired_ratio([]) is None and paired_ratio([(0.0, 1.0)]) is None and unpaired_ratio([], [1.0]) is None


def test_unpaired_rounds_are_compared_by_their_means():
    ratio = unpaired_ratio([200.0, 202.0, 198.0, 201.0, 199.0], [100.0, 101.0, 99.0, 100.0, 100.0])
    assert ratio.value == pytest.approx(2.0, rel=0.01) and ratio.tells_apart
