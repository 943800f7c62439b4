"""The way from a foreign file to a history of ours, once: read, pair, lay out, write, piece by piece.

What is wrong with a line is named and the rest is used. Most of what can be wrong changes what can be said: behind a line that cannot be
read may be the send of a value that now looks like a phantom. The caller is told how many such lines there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from analysis.jepsen.layout import LaidOut, Layout
from analysis.jepsen.pairing import Illegal, Paired, Pairing
from analysis.jepsen.pieces import ROWS_A_PIECE, PieceWriter
from analysis.jepsen.sources import Line, read_lines
from harness.history.beside import Operation, RowsWriter
from harness.history.files import history_directory
from harness.history.plan import Plan, Promises, write_plan
from harness.history.schema import Function, Kind

SHOWN = 100
"""Problems that are kept; all are counted."""

_OF_MESSAGES = (Function.SEND, Function.POLL)


@dataclass(frozen=True, slots=True)
class Problem:
    """`harmless`: what can be said of the history is the same without it."""

    file: Path
    line: int
    what: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Imported:
    """`problems` are the first SHOWN of `found`, of which `serious` change what can be said."""

    rows: int
    operations: int
    problems: tuple[Problem, ...]
    found: int
    serious: int


def import_history(source: Path, target: Path, rows_a_piece: int = ROWS_A_PIECE) -> Imported:
    """Lay out a file in a new folder, as the folder of a run. MalformedFile where it is no history at all."""
    lines = read_lines(source)
    first = next(lines, None)
    history_directory(target).mkdir(parents=True)
    problems = _Problems(source)
    assigning: set[Kind] = set()
    operations = 0
    with PieceWriter(target, rows_a_piece) as pieces, RowsWriter(target, Operation) as several:
        layout = Layout()
        for op in _operations(lines if first is None else chain((first,), lines), problems):
            laid_out = layout.lay_out(op)
            if laid_out.why:
                problems.add(op.line, laid_out.why, harmless=laid_out.harmless)
            if laid_out.kind in (Kind.ASSIGN, Kind.SUBSCRIBE):
                assigning.add(laid_out.kind)
            pieces.add(op, laid_out.kind, laid_out.rows)
            if (partitions := _partitions(laid_out)) > 1:
                several.add(Operation(op.number, op.process, op.outcome, op.invoked, op.completed, partitions))
            operations += 1
    write_plan(target, Plan(0, Promises(assignment=_assignment(assigning)), scenario={"imported": str(source)}))
    return Imported(pieces.rows, operations, tuple(problems.shown), problems.found, problems.serious)


class _Problems:
    def __init__(self, file: Path) -> None:
        self._file = file
        self.shown: list[Problem] = []
        self.found = self.serious = 0

    def add(self, line: int, what: str, *, harmless: bool = False) -> None:
        self.found += 1
        self.serious += not harmless
        if len(self.shown) < SHOWN:
            self.shown.append(Problem(self._file, line, what, harmless))


def _operations(lines: Iterator[Line], problems: _Problems) -> Iterator[Paired]:
    pairing = Pairing()
    for line in lines:
        if line.op is None:
            problems.add(line.number, line.why)
            continue
        for found in pairing.take(line.number, line.op):
            if isinstance(found, Illegal):
                problems.add(found.line, found.why)
            else:
                yield found
    yield from pairing.rest()


def _partitions(laid_out: LaidOut) -> int:
    return len({row.place for row in laid_out.rows if row.place is not None and row.f in _OF_MESSAGES})


def _assignment(kinds: set[Kind]) -> str | None:
    """Where a client subscribes, positions are the group's to move."""
    if Kind.SUBSCRIBE in kinds:
        return "subscribe"
    return "assign" if Kind.ASSIGN in kinds else None
