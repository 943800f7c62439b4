"""The rows of a bucket as numpy columns, for what looks at all of them at once and not at one partition after the other.

A column is made when it is first asked for, and the same for all who ask. Words keep the width they have in the file: eight of them are
compared in the time of one number.

A poll that gave five hundred messages is five hundred rows, of which who, when and how it ended is the same. Whoever asks only for
these looks at *calls*: rows that follow each other and differ in nothing of the kind, once, with their number.
"""

from __future__ import annotations

from functools import cached_property
from weakref import proxy

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.partition import Columns, Names, numbers_in
from analysis.sorting import changes
from harness.history.schema import FIXED_WORDS, Outcome

OTHER = 14
"""Stands for a function or kind that this version does not know; an outcome it does not know is unknown."""

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

OF_A_CALL = ("op", "process", "kind", "f", "outcome", "phase", "intended", "invoked", "completed")
"""What a call's rows have in common: whoever asks for calls needs them."""


class Rows(dict[str, Numbers]):
    """By name. What may be null is int64 and MISSING where it is; numbers of kind, f and outcome are those of the schema."""

    def __init__(self, table: pa.Table, names: Names, numbers: Columns | None = None) -> None:
        super().__init__()
        self._numbers = numbers_in(table) if numbers is None else numbers
        self._rows = int(table.num_rows)
        self.names = names

    def __missing__(self, name: str) -> Numbers:
        self[name] = found = _in_our_words(self._numbers[name], name, self.names)
        return found

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def calls(self) -> Calls:
        return Calls(self)


class Calls(dict[str, Numbers]):
    """Columns by name, of the first row of each call. `rows` has the position of that, `lengths` how many rows there are."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._columns: Rows = proxy(rows)  # in a circle they would outlive their bucket
        edges = np.flatnonzero(changes(*(rows[name] for name in OF_A_CALL))) + 1
        self.rows: Numbers = np.concatenate(([0], edges)) if len(rows) else edges
        self.lengths: Numbers = np.diff(np.append(self.rows, len(rows)))

    def __missing__(self, name: str) -> Numbers:
        found: Numbers = self._columns[name][self.rows]
        self[name] = found
        return found


def _in_our_words(found: Numbers, name: str, names: Names) -> Numbers:
    if name in FIXED_WORDS and list(names[name]) != FIXED_WORDS[name][: len(names[name])]:
        known, other = FIXED_WORDS[name], Outcome.INFO if name == "outcome" else OTHER
        found = np.array([known.index(word) if word in known else other for word in names[name]], found.dtype)[found]
    return found
