from itertools import pairwise

import numpy as np
import pytest

from analysis.sorting import changes, groups_of, order_by, order_of, position_in, rises_for_each
from analysis.times import edges_of_gaps, together


@pytest.mark.parametrize("span", [1, 10, 2**16 - 1, 2**16, 2**20, 2**32, 2**40, 2**48, 2**62])
@pytest.mark.parametrize("low", [0, -5, 2**61])
def test_keys_of_any_span_are_sorted_and_equal_ones_keep_their_order(span, low):
    keys = np.random.default_rng(span).integers(0, span, 5000, endpoint=True) + low
    keys[::3] = keys[1]
    assert order_of(keys).tolist() == sorted(range(len(keys)), key=lambda at: keys[at])


def test_narrow_columns_are_sorted_as_wide_ones():
    keys = np.array([3, -128, 127, 3, 0], np.int8)
    assert order_of(keys).tolist() == [1, 4, 0, 3, 2]


def test_what_is_sorted_stays_and_nothing_is_sorted_too():
    assert order_of(np.array([1, 1, 2])).tolist() == [0, 1, 2]
    assert order_of(np.empty(0, np.int64)).tolist() == []


def test_several_keys_sort_by_the_first_and_then_the_next():
    first, second = np.random.default_rng(1).integers(0, 9, (2, 300))
    assert order_by(first, second).tolist() == sorted(range(300), key=lambda at: (first[at], second[at]))


def test_groups_are_runs_of_equal_keys():
    one, two = np.array([5, 5, 7, 7, 7]), np.array([1, 1, 1, 2, 2])
    assert groups_of(one, two).tolist() == [0, 0, 1, 2, 2]
    assert changes(one).tolist() == [False, True, False, False]
    assert groups_of(np.empty(0, np.int64)).tolist() == []


def test_a_key_s_position_is_found_and_that_of_a_stranger_is_none():
    assert position_in(np.array([2, 4, 2**62]), np.array([4, 3, 2**62, 2**62 + 1, 2])).tolist() == [1, -1, 2, -1, 0]
    assert position_in(np.empty(0, np.int64), np.array([4])).tolist() == [-1]


def test_times_that_meet_become_one():
    assert together(np.array([[5, 9], [0, 2], [9, 10], [1, 3], [20, 20]])).tolist() == [[0, 3], [5, 10], [20, 20]]
    assert together(np.empty((0, 2), np.int64)).tolist() == []


def test_of_too_many_times_those_with_the_least_between_them_become_one():
    found = together(np.array([[0, 1], [3, 4], [100, 101], [103, 104], [500, 501]]), most=3)
    assert found.tolist() == [[0, 4], [100, 104], [500, 501]]


def test_numbers_rise_for_each_where_they_fall_only_from_one_to_another():
    numbers, who = np.concatenate((np.arange(200), np.arange(200))), np.repeat((3, 1), 200)
    assert rises_for_each(numbers, lambda: who)
    who[399] = 3
    assert not rises_for_each(numbers, lambda: who)
    assert rises_for_each(np.arange(5), lambda: pytest.fail("nobody has to be asked"))


@pytest.mark.parametrize("seed", range(20))
def test_every_long_gap_between_moments_is_among_the_edges(seed):
    random = np.random.default_rng(seed)
    moments = np.concatenate([start + random.integers(0, 400, 100) for start in random.integers(0, 5000, 4)])
    kept, everything = edges_of_gaps(moments, 100), np.sort(moments)

    def gaps(times):
        return [(int(one), int(two)) for one, two in pairwise(times) if two - one >= 100]

    assert gaps(kept) == gaps(everything) and len(kept) < len(moments)
