"""A partition too large for a task's memory, checked in pieces that are not.

What compares the values of one place is judged on ranges of offsets, what compares the places of one value on ranges of values: an
instance is whole in one piece, and the counts add up. Both passes leave something small behind: which offsets hold something and which
sends lie elsewhere than they were told (`places`), and where a value is overruled at an offset by a smaller one of another piece. With that
a third pass over ranges of operations judges the order: what a process did last in one piece is carried into the next. A fourth, by
offsets again, shows that no send was invoked after something behind it was over, so that there can be no circle (`dependencies`). In every
pass values and operations of one client must rise in the order they were made, as they do in every recorded history.

The driver chooses the ranges (`ranges`, from a sample of the column), and reads a piece with `only_range`, file by file, so that the whole
is never in memory. What cannot be judged this way is told in `unjudged`: circles where an operation is compound or time is against it, what
belongs to transactions, look-ups by time and gaps of service, where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Literal

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from analysis import cycles
from analysis.carrying import Holes, Line, carried, follow, moved_in
from analysis.context import Context
from analysis.cycles import Spans
from analysis.dependencies import Dependencies
from analysis.families import CORE, columns_for, find_in
from analysis.findings import Finding
from analysis.log import Log
from analysis.partition import Column, Partition
from analysis.places import places_of, runs_in
from analysis.reordering import Sends, late, sends_of
from harness.history.schema import Function

By = Literal["value", "offset", "op"]
Range = tuple[int, int]
Pieces = Callable[[By], Iterable[Partition]]

BY_OFFSET = ("inconsistent-offsets", "ack-conflict", "read-conflict", "corrupt", "misplaced")
BY_VALUE = ("G1a", "unseen", "phantom", "lost", "lost-after-read", "duplicate")
BY_OP = (
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "int-send-skip",
    "int-nonmonotonic-send",
    "poll-skip",
    "nonmonotonic-poll",
    "nonmonotonic-send",
)
OF_DUMPS = ("replica-divergence", "metadata-divergence")
OF_TRANSACTIONS = ("G1b", "precommitted-read", "torn-transaction")
IN_PIECES = (*BY_OFFSET, *BY_VALUE, *BY_OP, *OF_DUMPS, "reordered", "lost-write")
"""What pieces show whatever is in them."""

COLUMNS = tuple(dict.fromkeys((*columns_for(), "key", "process", "producer", "invoked", "completed")))
assert set(CORE) <= set(IN_PIECES)


@dataclass
class InPieces:
    """`unjudged` are the anomalies that could not be looked for; both are whole when `findings` has been gone through."""

    pieces: Pieces
    context: Context
    names: Collection[str]
    unjudged: set[str] = field(default_factory=set)
    spans: Spans | None = None

    def findings(self) -> Iterator[Finding]:
        """`pieces(column)` reads the partition anew, one piece a range of that column, rising.

        Each is looked at in a function of its own: a loop would hold one piece while it reads the next.
        """
        runs, overruled = [], [self.context.overruled]

        def by_offset(piece: Partition) -> list[Finding]:
            log = Log(piece, self.context)
            runs.append(runs_in(log.pairs.offset[log.first_at_place]))
            overruled.append(log.overruled())
            return list(find_in(log, self._of(BY_OFFSET)))

        yield from chain.from_iterable(map(by_offset, self.pieces("offset")))
        told = replace(self.context, overruled=np.concatenate(overruled))
        moved, holes = [], Holes()
        before: Sends | None = None

        def by_value(piece: Partition) -> list[Finding]:
            nonlocal before
            log = Log(piece, told)
            moved.append(moved_in(log))
            holes.look_at(log)
            found = list(find_in(log, self._of(BY_VALUE)))
            if "reordered" in self.names:
                reordered, before = late(log, sends_of(log), before)
                found.append(reordered)
            return found

        yield from chain.from_iterable(map(by_value, self.pieces("value")))
        if "lost-write" in self.names:
            yield holes.finding()
        yield from self._in_order(replace(told, places=places_of(runs, moved)))

    def _in_order(self, context: Context) -> Iterator[Finding]:
        """By ranges of operations; under Jepsen's rules a poll has the place of its value, which no range of operations shows."""
        judged = () if context.rules == "jepsen" else BY_OP
        self.unjudged |= self._of(BY_OP) - set(judged)
        compound = False
        last: Partition | None = None

        def by_op(piece: Partition) -> list[Finding]:
            nonlocal compound, last
            since = int(piece["op"][0]) if len(piece) else context.since
            log = Log(piece if last is None else follow(last, piece), replace(context, since=since))
            found = list(find_in(log, self._of(judged, OF_DUMPS if last is None else ())))
            last = carried(log)
            compound = compound or Dependencies(log).compound
            self._see_what_is_there(log)
            return found

        yield from chain.from_iterable(map(by_op, self.pieces("op")))
        if cycles_asked := self._of(cycles.NAMES):
            assert context.places is not None
            line = Line(context.places.moved)
            if compound or context.rules == "jepsen" or not all(map(line.agrees_with_time, self.pieces("offset"))):
                self.unjudged |= cycles_asked
            self.spans = Spans(unsearched=1)

    def _see_what_is_there(self, log: Log) -> None:
        if log.has_transactions:
            self.unjudged |= self._of(OF_TRANSACTIONS)
        if (log.rows["f"] == Function.LOOKUP).any():
            self.unjudged |= self._of(("stale-time-index",))
        if log.context.progress is not None:
            self.unjudged |= self._of(("unavailable",))

    def _of(self, *several: Collection[str]) -> set[str]:
        return {name for names in several for name in names if name in self.names}


def ranges(sample: Column, count: int) -> list[Range]:
    """About as much of the column in each; together they hold every number."""
    ranked = np.sort(sample)
    cuts = np.unique(ranked[np.arange(1, count) * len(ranked) // count]) if len(ranked) else ranked
    return list(pairwise([int(np.iinfo(np.int64).min), *cuts.tolist(), int(np.iinfo(np.int64).max)]))


def only_range(rows: pa.Table, column: By, within: Range) -> pa.Table:
    """The rows whose number is in the range; the last range has its end. Rows without the number are in none."""
    low, high = within
    last = high == np.iinfo(np.int64).max
    below = pc.less_equal(rows[column], high) if last else pc.less(rows[column], high)
    return rows.filter(pc.and_(pc.greater_equal(rows[column], low), below))
