"""The rows of a bucket as numpy columns, for what looks at all of them at once and not at one partition after the other.

A column is made when it is first asked for, and the same for all who ask. Words keep the width they have in the file: eight of them are
compared in the time of one number.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.partition import Names, numbers_of
from harness.history.schema import FIXED_WORDS, ROWS, Outcome

OTHER = 14
"""Stands for a function or kind that this version does not know; an outcome it does not know is unknown."""

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HASHES = 1 << 20


class Rows(dict[str, Numbers]):
    """By name. What may be null is int64 and MISSING where it is; numbers of kind, f and outcome are those of the schema."""

    def __init__(self, table: pa.Table, names: Names) -> None:
        super().__init__()
        self._table = table
        self.names = names

    def __missing__(self, name: str) -> Numbers:
        self[name] = found = _column(self._table, name, self.names)
        return found

    def __len__(self) -> int:
        return int(self._table.num_rows)


def among(values: Numbers, wanted: Numbers) -> Mask:
    """Whether each is one of those wanted, where few are: a table of their last bits clears nearly all others of suspicion."""
    suspected = np.zeros(_HASHES, np.bool_)
    suspected[wanted & (_HASHES - 1)] = True
    found: Mask = suspected[values & (_HASHES - 1)]
    near = np.flatnonzero(found)
    found[near] = np.isin(values[near], wanted)
    return found


def _column(rows: pa.Table, name: str, names: Names) -> Numbers:
    found = numbers_of(rows[name], ROWS.field(name))
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        known, other = FIXED_WORDS[name], Outcome.INFO if name == "outcome" else OTHER
        found = np.array([known.index(word) if word in known else other for word in names[name]], found.dtype)[found]
    return found
