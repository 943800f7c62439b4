"""What recording costs is said with its range, and that nobody can say it where the range is too wide."""

from harness.bench.under_faults.report import verified_in_words
from harness.bench.verified import Checked, Verified


def told(*recorded, valid=True):
    return verified_in_words(Verified("1", "run", 300, 300, 2, recorded, tuple(100.0 for _ in recorded), Checked(valid, (), 1.0)))


def test_a_cost_that_pairs_agree_on_is_told():
    words = told(90.0, 92.0, 88.0)
    assert "kept its promises, 300 acknowledged, 2 lost" in words
    assert words.endswith("recording took 10% of the rate (8% to 12% over 3 pairs)")


def test_a_range_that_is_too_wide_says_nothing():
    assert "too wide a range to say what it costs" in told(70.0, 206.0, 64.0)


def test_a_broken_promise_is_told_with_the_figure():
    assert "BROKE A PROMISE" in told(90.0, valid=False)
