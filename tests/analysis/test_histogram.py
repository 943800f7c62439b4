import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.histogram import FINEST_NS, MOST_BINS, NO_SIZE, Cells, buckets_of, middle_of, percentile

SIZES = st.integers(0, 2**52 - 1)


def array(values):
    return np.array(values, np.int64)


@given(st.lists(SIZES, min_size=1))
def test_the_middle_of_its_bucket_is_within_a_few_per_cent_of_every_size(sizes):
    given_sizes = array(sizes)
    middles = middle_of(buckets_of(given_sizes))
    assert (np.abs(middles - given_sizes) <= given_sizes / 31 + (given_sizes == 0) * 2).all()


@given(SIZES, SIZES)
def test_a_larger_size_is_in_no_lower_bucket_and_none_is_in_the_bucket_of_what_has_no_size(one, two):
    low, high = buckets_of(array(sorted((one, two))))
    assert low <= high < NO_SIZE


def test_sizes_below_zero_and_beyond_all_measure_are_counted_at_the_ends():
    assert buckets_of(array([-5, 0])).tolist() == [0, 0]
    assert buckets_of(array([2**62])) == buckets_of(array([2**52 - 1]))


def test_percentiles_of_a_known_thousand():
    cells = Cells.count(np.zeros(1000, np.int64), np.zeros(1000, np.int64), buckets_of(np.arange(1, 1001) * 1000))
    for share in (0.5, 0.9, 0.99):
        found = percentile(cells.buckets, cells.counts, share)
        assert found is not None and abs(found - share * 1e6) <= share * 1e6 * 0.04
    assert percentile(array([NO_SIZE]), array([5]), 0.5) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**13), SIZES), min_size=1, max_size=60), st.integers(0, 60))
def test_merged_cells_are_those_of_all_observations_together(observations, cut):
    def count(some):
        series, times, sizes = (array(column) for column in zip(*some, strict=True)) if some else (array([]), array([]), array([]))
        return Cells.count(series, times, buckets_of(sizes))

    together = count(observations[:cut]).merge(count(observations[cut:]))
    alone = count(observations)
    assert together.width == alone.width
    assert together.keys.tolist() == alone.keys.tolist()
    assert together.counts.tolist() == alone.counts.tolist()


def test_the_time_axis_is_never_longer_than_its_bins_whatever_the_length():
    for length in (1, 59, 61, 3600, 7 * 86_400):
        times = np.linspace(0, length * 1e9, 5000).astype(np.int64)
        cells = Cells.count(np.zeros(5000, np.int64), times, buckets_of(times))
        assert len(np.unique(cells.bins)) <= MOST_BINS
        assert cells.total == 5000
    assert Cells.count(array([0]), array([5]), array([0])).width == FINEST_NS


def test_times_that_begin_anywhere_take_no_wider_bins():
    late = array([1_700_000_000 * 10**9, 1_700_000_030 * 10**9])
    assert Cells.count(array([0, 0]), late, array([0, 0])).width == FINEST_NS
