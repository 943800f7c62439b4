import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.partition import MISSING, numbers_of, partitions_of
from harness.history.schema import FIXED_WORDS, ROWS

NAMES = {**FIXED_WORDS, "topic": ["b", "a"], "error": [], "group": []}


def rows(*given: tuple[int, int, int | None, int | None]) -> pa.Table:
    """op, topic, part, offset."""
    columns: dict[str, list[int | None]] = {name: [None] * len(given) for name in ROWS.names}
    columns["op"], columns["topic"], columns["part"], columns["offset"] = (list(column) for column in zip(*given, strict=True))
    for name in ("process", "micro", "kind", "f", "outcome", "phase", "invoked"):
        columns[name] = [0] * len(given)
    return pa.table(columns, schema=ROWS)


def test_a_bucket_is_cut_into_its_partitions_each_in_the_order_of_operations():
    found = list(partitions_of(rows((3, 0, 1, 30), (2, 1, 0, 20), (1, 0, 1, 10)), NAMES))
    assert [(each.topic, each.part, each["offset"].tolist()) for each in found] == [("b", 1, [10, 30]), ("a", 0, [20])]


def test_what_is_null_is_missing_and_rows_without_a_partition_are_left_out():
    (found,) = partitions_of(rows((1, 0, 1, None), (2, 0, None, 5)), NAMES)
    assert found["offset"].tolist() == [MISSING]


def test_words_are_numbered_as_the_schema_has_them():
    names = NAMES | {"outcome": ["info", "ok"]}
    (found,) = partitions_of(rows((1, 0, 1, 0)), names)
    assert found["outcome"].tolist() == [FIXED_WORDS["outcome"].index("info")]


def test_a_mask_keeps_the_rows_for_which_it_holds():
    (found,) = partitions_of(rows((1, 0, 1, 10), (2, 0, 1, 20)), NAMES)
    assert found.only(np.array([False, True]))["op"].tolist() == [2]


def test_numbers_are_right_in_pieces_of_columns_that_begin_anywhere():
    field = ROWS.field("leader_epoch")
    known = [None if number % 3 == 0 else number for number in range(50)]
    whole = pa.array(known, field.type)
    chunks = [whole.slice(0, 13), whole.slice(13, 0), whole.slice(13, 20), pa.nulls(4, field.type), whole.slice(34, 1)]
    expected = [MISSING if number is None else number for number in [*known[:33], *[None] * 4, known[34]]]
    assert numbers_of(pa.chunked_array(chunks), field).tolist() == expected
