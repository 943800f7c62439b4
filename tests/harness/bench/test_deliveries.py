"""Percentiles and silences, against distributions whose answers are known."""

import math
import random
from array import array

import pytest

from harness.bench.deliveries import longest_silence_ms, percentile, read_deliveries


def test_percentiles_of_one_to_a_hundred_are_their_own_names():
    values = [float(value) for value in range(1, 101)]
    random.Random(1).shuffle(values)
    assert [percentile(values, percent) for percent in (1, 50, 99, 100)] == [1, 50, 99, 100]


def test_percentiles_of_an_exponential_distribution_are_where_they_belong():
    source = random.Random(7)
    values = [source.expovariate(1.0) for _ in range(200_000)]
    for percent in (50, 90, 99):
        assert percentile(values, percent) == pytest.approx(-math.log(1 - percent / 100), rel=0.03)


def test_a_percentile_is_always_one_of_the_values():
    assert percentile([5.0], 50) == 5.0
    assert percentile([1.0, 100.0], 50) == 1.0
    assert percentile([1.0, 100.0], 51) == 100.0


def test_nothing_has_no_percentile():
    assert math.isnan(percentile([], 50))


def test_latency_counts_from_when_a_message_was_due(tmp_path):
    deliveries = _written(tmp_path, [(1000, 3000, 0), (2000, 3000, 0)])
    assert deliveries.latencies_ms == [2.0, 1.0]


def test_messages_that_failed_or_were_never_answered_are_counted_apart(tmp_path):
    deliveries = _written(tmp_path, [(1, 5, 0), (2, 6, -192), (3, 0, 0)])
    assert (list(deliveries.acked_us), deliveries.failed) == ([5], 2)


def test_the_longest_silence_is_found_whatever_the_order_of_acknowledgements():
    assert longest_silence_ms([10_000, 500_000, 0, 510_000], 20_000) == 490.0


def test_a_silence_that_ended_before_the_blow_does_not_count():
    assert longest_silence_ms([0, 900_000, 901_000, 905_000], 901_000) == 4.0


def test_where_nothing_was_acknowledged_afterwards_there_is_no_figure():
    assert math.isnan(longest_silence_ms([1, 2, 3], 10))


def _written(tmp_path, rows):
    path = tmp_path / "deliveries"
    path.write_bytes(array("q", [number for row in rows for number in row]).tobytes())
    return read_deliveries(path)
