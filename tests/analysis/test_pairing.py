import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.pairing import pair_up

BASES = st.sampled_from((0, 7, 2**33, 2**62))
ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(100, 103)))


def told(offset: list[int], value: list[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The pairs, and the pair of each row."""
    found = pair_up(np.array(offset, np.int64), np.array(value, np.int64))
    pairs = list(zip(found.offset.tolist(), found.value.tolist(), strict=True))
    return pairs, [pairs[at] for at in found.of_row.tolist()]


@given(ROWS, BASES)
def test_pairs_are_all_that_the_rows_told_once_each_and_sorted(rows, base):
    shifted = [(base + offset, value) for offset, value in rows]
    pairs, of_rows = told([offset for offset, _ in shifted], [value for _, value in shifted])
    assert pairs == sorted(set(shifted))
    assert of_rows == shifted


@given(ROWS)
def test_offsets_that_lie_far_apart_are_paired_as_well(rows):
    apart = [(offset * 2**55, value) for offset, value in rows]
    pairs, of_rows = told([offset for offset, _ in apart], [value for _, value in apart])
    assert pairs == sorted(set(apart))
    assert of_rows == apart


def test_nothing_is_as_long_as_offsets_are_large():
    offset = np.array([0, 2**62, 0], np.int64)
    assert pair_up(offset, np.array([5, 6, 5], np.int64)).of_row.tolist() == [0, 1, 0]
