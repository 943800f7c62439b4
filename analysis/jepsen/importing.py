"""The way from a foreign file to a history of ours, once: read, pair, lay out, write, piece by piece.

What is wrong with a line is named and the rest is used. Most of what can be wrong changes what can be said: behind a line that cannot be
read may be the send of a value that now looks like a phantom. The caller is told how many such lines there are.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from analysis.jepsen.layout import LaidOut, Layout
from analysis.jepsen.pairing import Illegal, Paired, Pairing
from analysis.jepsen.pieces import ROWS_A_PIECE, PieceWriter
from analysis.jepsen.sources import WHOLE, Line, Share, can_be_shared, read_lines
from harness.history.beside import Operation, RowsWriter
from harness.history.errors import MalformedFile
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


Run = Callable[[Sequence[Share], Callable[[Share], "_Part"]], "list[_Part]"]
"""How tasks are run: `Spark.run`, or one after the other."""


def import_history(source: Path, target: Path, *, rows_a_piece: int = ROWS_A_PIECE, shares: int = 1, run: Run | None = None) -> Imported:
    """Lay out a file in a new folder, as the folder of a run. MalformedFile where it is no history at all.

    Where it can be shared, so many tasks lay out the operations of some processes each.
    """
    tasks = [Share(mine, shares) for mine in range(shares)] if can_be_shared(source) else [WHOLE]
    history_directory(target).mkdir(parents=True)
    parts = (run or _one_after_the_other)(tasks, LayOut(source, target, rows_a_piece))
    if refused := [part.refused for part in parts if part.refused]:
        raise MalformedFile(source, refused[0])
    _join_operations(target, len(tasks))
    assignment = _assignment({kind for part in parts for kind in part.assigning})
    write_plan(target, Plan(0, Promises(assignment=assignment), scenario={"imported": str(source)}))
    problems = sorted((problem for part in parts for problem in part.problems), key=lambda problem: problem.line)
    return Imported(
        sum(part.rows for part in parts),
        sum(part.operations for part in parts),
        tuple(problems[:SHOWN]),
        sum(part.found for part in parts),
        sum(part.serious for part in parts),
    )


@dataclass(frozen=True, slots=True)
class LayOut:
    """What a task does. It may be sent to another process; `target` is a folder that all tasks see."""

    source: Path
    target: Path
    rows_a_piece: int

    def __call__(self, share: Share) -> _Part:
        try:
            return self._lay_out(share)
        except MalformedFile as problem:
            return _Part(refused=problem.why)

    def _lay_out(self, share: Share) -> _Part:
        problems = _Problems(self.source)
        layout, operations = Layout(), 0
        assigning: set[Kind] = set()
        place = _place_of_share(self.target, share.mine)
        place.mkdir(exist_ok=True)
        with PieceWriter(self.target, 1 + share.mine, self.rows_a_piece) as pieces, RowsWriter(place, Operation) as several:
            for op in _operations(read_lines(self.source, share), problems):
                laid_out = layout.lay_out(op)
                if laid_out.why:
                    problems.add(op.line, laid_out.why, harmless=laid_out.harmless)
                if laid_out.kind in (Kind.ASSIGN, Kind.SUBSCRIBE):
                    assigning.add(laid_out.kind)
                pieces.add(op, laid_out.kind, laid_out.rows)
                if (partitions := _partitions(laid_out)) > 1:
                    several.add(Operation(op.number, op.process, op.outcome, op.invoked, op.completed, partitions))
                operations += 1
        return _Part(pieces.rows, operations, frozenset(assigning), tuple(problems.shown), problems.found, problems.serious)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one task tells. `refused` is why the file cannot be read on: an error would reach the driver as one of Spark's."""

    rows: int = 0
    operations: int = 0
    assigning: frozenset[Kind] = frozenset()
    problems: tuple[Problem, ...] = ()
    found: int = 0
    serious: int = 0
    refused: str = ""


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
        for found in pairing.take(line):
            if isinstance(found, Illegal):
                problems.add(found.line, found.why)
            else:
                yield found
    yield from pairing.rest()


def _join_operations(target: Path, shares: int) -> None:
    """One file out of what the tasks wrote, a piece at a time."""
    with RowsWriter(target, Operation) as several:
        for mine in range(shares):
            place = _place_of_share(target, mine)
            with pq.ParquetFile(place / Operation.FILE) as parquet:
                for batch in parquet.iter_batches():
                    several.add_columns(dict(zip(batch.schema.names, batch.columns, strict=True)))
            shutil.rmtree(place)


def _place_of_share(target: Path, mine: int) -> Path:
    return target / f"share-{mine}"


def _one_after_the_other(shares: Sequence[Share], task: Callable[[Share], _Part]) -> list[_Part]:
    return [task(share) for share in shares]


def _partitions(laid_out: LaidOut) -> int:
    return len({row.place for row in laid_out.rows if row.place is not None and row.f in _OF_MESSAGES})


def _assignment(kinds: set[Kind]) -> str | None:
    """Where a client subscribes, positions are the group's to move."""
    if Kind.SUBSCRIBE in kinds:
        return "subscribe"
    return "assign" if Kind.ASSIGN in kinds else None
