import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.rotation import Rotation

POOL = [(f"topic-{topic}", part) for topic in range(4) for part in range(5)]


def rotation(pool=POOL, live=5, mean=20, order=1, choice=2):
    return Rotation(pool, live, mean, random.Random(order), random.Random(choice))


@given(st.integers(1, 20), st.integers(1, 25), st.integers(1, 30), st.integers(0, 300), st.integers())
def test_live_partitions_are_distinct_and_of_the_pool(size, live, mean, writes, seed):
    found = rotation(POOL[:size], live, mean, seed)
    for _ in range(writes):
        assert found.next() in POOL[:size]
        assert len(set(found.live)) == len(found.live) == min(live, size)
        assert set(found.live) <= set(found.readable) <= set(POOL[:size])


@given(st.integers(0, 100))
def test_a_write_goes_to_a_partition_that_is_live(seed):
    found = rotation(choice=seed)
    for _ in range(200):
        live = found.live
        assert found.next() in live


def test_a_partition_is_retired_for_a_fresh_one_until_all_were_used():
    found = rotation(mean=10)
    used = {found.next() for _ in range(2000)}
    assert used == set(POOL)


def test_no_partition_has_more_writes_at_a_time_than_twice_the_mean():
    found = rotation(mean=10)
    running: Counter = Counter()
    for _ in range(3000):
        place = found.next()
        running[place] += 1
        assert running[place] < 20
        if place not in found.live:
            running[place] = 0


def test_the_choice_is_skewed():
    found = rotation(mean=10**9)
    counts = Counter(found.next() for _ in range(5000)).most_common()
    assert counts[0][1] > 3 * counts[-1][1]


def test_the_same_seeds_give_the_same_writes():
    one, other = rotation(), rotation()
    assert [one.next() for _ in range(500)] == [other.next() for _ in range(500)]


def test_workers_with_the_same_order_begin_with_the_same_partitions():
    assert rotation(choice=1).live == rotation(choice=2).live


@pytest.mark.parametrize("pool", [[], [("a", 0), ("a", 0)]])
def test_a_pool_without_partitions_or_with_one_twice_is_refused(pool):
    with pytest.raises(ValueError, match="pool"):
        rotation(pool)
