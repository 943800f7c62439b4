from collections.abc import Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from analysis.families import find
from analysis.findings import merge
from analysis.partition import MISSING, Partition
from analysis.pieces import IN_PIECES, By, find_in_pieces, only_range, ranges
from harness.history.schema import Phase
from tests.analysis.hand_made import FAIL, INFO, OK, READ_TO_THE_END, Hand


def messy(seed: int) -> Partition:
    """A history in which a good deal goes wrong."""
    random = np.random.default_rng(seed)
    hand = Hand()
    stored: list[int] = []
    for value in range(100, 160):
        outcome = (OK, OK, OK, INFO, FAIL)[random.integers(5)]
        at = len(stored) if random.random() < 0.9 else int(random.integers(len(stored) + 1))
        if outcome is not FAIL or random.random() < 0.2:
            stored.insert(at, value)
        told = at if outcome is OK and random.random() < 0.9 else None
        hand.send(value, told, outcome, producer=int(random.integers(3)), key=int(random.integers(2)))
    for phase in (Phase.RUN, Phase.FINAL):
        kept = [(offset, value) for offset, value in enumerate(stored) if random.random() < 0.9]
        wrong = [(int(random.integers(60)), int(random.integers(100, 170))) for _ in range(6)]
        for start in range(0, len(kept), 7):
            hand.poll(*kept[start : start + 7], *wrong[start // 7 :][:1], phase=phase, outcome=(OK, OK, INFO)[random.integers(3)])
    hand.poll((7, None, "corrupt"), (50, None, "misplaced"))
    return hand.partition()


def reader(whole: Partition, count: int):
    def pieces(by: By) -> Iterator[Partition]:
        column = whole[by]
        for low, high in ranges(column[column != MISSING], count):
            yield whole.only((column >= low) & (column < high) & (column != MISSING))

    return pieces


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("seed", range(12))
def test_pieces_find_what_the_whole_has(seed, count):
    whole = messy(seed)
    expected = merge(find(whole, READ_TO_THE_END, IN_PIECES))
    found = merge(find_in_pieces(reader(whole, count), READ_TO_THE_END))
    told = {name: (one.count, one.doubtful, [each.identity for each in one.witnesses]) for name, one in found.items()}
    assert told == {name: (one.count, one.doubtful, [each.identity for each in one.witnesses]) for name, one in expected.items()}


def test_the_messy_histories_have_nearly_everything_that_is_looked_for():
    found = merge(finding for seed in range(12) for finding in find(messy(seed), READ_TO_THE_END, IN_PIECES))
    assert set(found) == set(IN_PIECES)


def test_ranges_hold_about_as_much_each_and_every_number():
    found = ranges(np.arange(1000), 4)
    assert [high for _, high in found[:-1]] == [250, 500, 750]
    assert ranges(np.empty(0, np.int64), 3) == [(MISSING, 2**63 - 1)]
    assert ranges(np.full(10, 7), 3) == [(MISSING, 7), (7, 2**63 - 1)]


def test_rows_are_in_the_range_of_their_number_and_without_one_in_none():
    rows = pa.table({"value": pa.array([5, None, 9, 10, 2**63 - 1], pa.int64())})
    assert only_range(rows, "value", (5, 10))["value"].to_pylist() == [5, 9]
    assert only_range(rows, "value", (10, 2**63 - 1))["value"].to_pylist() == [10, 2**63 - 1]
