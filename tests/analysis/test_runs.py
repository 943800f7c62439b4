import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from analysis.partition import partitions_of
from analysis.runs import Runs, runs_of
from harness.history.schema import FIXED_WORDS, ROWS, first_number

NAMES = FIXED_WORDS | {"topic": ["a", "b"], "error": [], "group": []}
COLUMNS = ("topic", "part", "op", "micro", "value")

PLACES = st.one_of(st.tuples(st.integers(0, 1), st.integers(0, 2)), st.just((None, None)))
STRETCHES = st.lists(st.tuples(PLACES, st.integers(0, 3), st.integers(0, 20), st.integers(1, 90)), max_size=8)
ANY_ROWS = st.lists(st.tuples(PLACES, st.integers(0, 3), st.integers(0, 4), st.integers(0, 3)), max_size=40)


def table(rows: list[tuple[int | None, int | None, int, int]]) -> pa.Table:
    """With the row's own position as its value."""
    numbered = [(*row, position) for position, row in enumerate(rows)]
    schema = pa.schema([ROWS.field(name) for name in COLUMNS])
    return pa.table([list(column) for column in zip(*numbered, strict=True)] or [[]] * len(COLUMNS), schema=schema)


def by_sorting(rows) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for position in sorted(range(len(rows)), key=lambda at: rows[at][2:]):
        topic, part = rows[position][:2]
        if topic is not None:
            found.setdefault((NAMES["topic"][topic], part), []).append(position)
    return found


def cut(rows) -> dict[tuple[str, int], list[int]]:
    return {(one.topic, one.part): one["value"].tolist() for one in partitions_of(table(rows), NAMES)}


@given(ANY_ROWS)
def test_a_bucket_in_any_order_is_cut_into_partitions_in_the_order_of_operations(rows):
    several = [(*place, first_number(worker) + op, micro) for place, worker, op, micro in rows]
    assert cut(several) == by_sorting(several)


@given(STRETCHES)
def test_long_runs_of_several_workers_are_laid_out_as_if_they_were_sorted(stretches):
    rows = [(*place, first_number(worker) + first + count, 0) for place, worker, first, length in stretches for count in range(length)]
    assert cut(rows) == by_sorting(rows)


def test_runs_that_do_not_reach_into_each_other_are_not_sorted():
    op = np.concatenate((np.arange(100, 200), first_number(1) + np.arange(100), np.arange(200, 300)))
    micro = np.zeros(300, np.int64)
    same = np.zeros(300, np.int32)
    runs = runs_of(same, same, op, micro)
    joined = runs.joined(op, micro)
    assert len(runs) == 3 and isinstance(joined, Runs)
    assert joined.of(op).tolist() == sorted(op.tolist())


def test_a_single_run_is_not_even_copied():
    column = np.arange(10)
    assert np.shares_memory(Runs(np.array([2]), np.array([7])).of(column), column)
