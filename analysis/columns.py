"""A column of the history as numpy has it, for what looks at all rows of a bucket at once and not at one partition after the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.partition import MISSING, Names
from harness.history.schema import FIXED_WORDS, Outcome

OTHER = 14
"""Stands for a function or kind that this version does not know; an outcome it does not know is unknown."""

Numbers = npt.NDArray[np.int64]


def column_of(rows: pa.Table, name: str, names: Names) -> Numbers:
    """int64, MISSING where null; numbers of kind, f and outcome become those of the schema."""
    column = rows[name].combine_chunks().cast(pa.int64())
    found: Numbers = (column.fill_null(int(MISSING)) if column.null_count else column).to_numpy(zero_copy_only=False)
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        known, other = FIXED_WORDS[name], Outcome.INFO if name == "outcome" else OTHER
        found = np.array([known.index(word) if word in known else other for word in names[name]], np.int64)[found]
    return found
