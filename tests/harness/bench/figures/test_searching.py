"""The search for what can be kept up: it closes in on a limit, and judges by the backlog and not by the rate alone."""

import numpy as np
import pytest

from harness.bench.figures.searching import Trial, highest_kept, keeps_up, next_rate

LIMIT = 70_000.0


def test_the_search_closes_in_on_the_limit():
    trials = []
    for _ in range(10):
        rate = next_rate(trials, first=100_000.0)
        trials.append(Trial(rate, rate <= LIMIT))
    assert highest_kept(trials) == pytest.approx(LIMIT, rel=0.05)


def test_it_goes_up_where_the_first_rate_was_kept():
    trials = [Trial(10_000.0, True)]
    assert next_rate(trials, 10_000.0) > 10_000.0


def test_a_higher_rate_that_passed_by_luck_does_not_count():
    assert highest_kept([Trial(100.0, True), Trial(150.0, False), Trial(160.0, True)]) == 100.0


def test_where_nothing_was_kept_up_there_is_no_rate():
    assert highest_kept([Trial(100.0, False)]) is None


def load(seconds, rate, latency_us):
    due = np.arange(0, int(seconds * 1e6), int(1e6 / rate), dtype=np.int64)
    return due, due + latency_us(due).astype(np.int64)


def test_a_constant_latency_is_kept_up_however_long_it_is():
    due, acked = load(2, 1000, lambda due: np.full(len(due), 300_000))
    assert keeps_up(due, acked, unanswered=0, behind=0, rate=1000.0)


def test_a_latency_that_grows_is_not_kept_up():
    due, acked = load(2, 1000, lambda due: due * 0.5)
    assert not keeps_up(due, acked, unanswered=0, behind=0, rate=1000.0)


def test_unanswered_messages_and_replicas_far_behind_are_not_kept_up():
    due, acked = load(2, 1000, lambda due: np.full(len(due), 5_000))
    assert keeps_up(due, acked, unanswered=0, behind=50, rate=1000.0)
    assert not keeps_up(due, acked, unanswered=1, behind=0, rate=1000.0)
    assert not keeps_up(due, acked, unanswered=0, behind=500, rate=1000.0)
