"""The few rows of a history that one witness is about: its partition's log around the place, as each replica and each operation has it.

Read from the files when the report is written, one bucket at a time and only the columns needed, so that a history of any length costs no
more than its buckets with witnesses. Offsets that lie far apart are shown side by side with a gap between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from analysis.findings import Witness
from harness.history.beside import Record
from harness.history.buckets import bucket_of
from harness.history.readers import History

AROUND = 4
MOST_OFFSETS = 16
MOST_LINES = 12
_COLUMNS = ("op", "micro", "process", "f", "outcome", "error", "phase", "invoked", "completed", "topic", "part", "value", "offset")
_FAR = 200
"""Rows so far from the witness's offset are read, to find where its operations' other values lie."""

Row = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Line:
    """What one replica or operation says: the value at each offset. `sent` are values it sent without being told where they lie."""

    title: str
    about: str
    outcome: str | None
    cells: Mapping[int, int | None]
    sent: tuple[int, ...] = ()
    named: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`offsets` rise. `conflicts`: those with more than one value. `values`: those of the operations the witness names."""

    topic: str
    part: int
    offsets: tuple[int, ...]
    lines: tuple[Line, ...]
    values: frozenset[int] = frozenset()
    conflicts: frozenset[int] = field(default=frozenset())


def excerpts(run: Path, history: History, witnesses: Sequence[Witness]) -> dict[Witness, Excerpt]:
    """Of the witnesses that have a place; one without rows there has none."""
    placed: dict[tuple[str, int], list[Witness]] = {}
    for witness in witnesses:
        if witness.topic is not None and witness.part is not None and (witness.offset is not None or witness.ops):
            placed.setdefault((witness.topic, witness.part), []).append(witness)
    found = {}
    for (topic, part), some in placed.items():
        rows = _rows_near(history, topic, part, some)
        for witness in some:
            if excerpt := _excerpt(run, history, witness, rows[witness]):
                found[witness] = excerpt
    return found


def _rows_near(history: History, topic: str, part: int, witnesses: Sequence[Witness]) -> dict[Witness, list[Row]]:
    found: dict[Witness, list[Row]] = {witness: [] for witness in witnesses}
    if topic not in history.names["topic"]:
        return found
    number = history.names["topic"].index(topic)
    for table in history.read_each(bucket_of(topic, part, history.buckets), _COLUMNS):
        here = table.filter(pc.and_(pc.equal(table["topic"], number), pc.equal(table["part"], part)))
        for witness in witnesses:
            found[witness] += here.filter(_near(here, witness)).to_pylist()
    return found


def _near(table: pa.Table, witness: Witness) -> pa.ChunkedArray:
    named = pc.is_in(table["op"], pa.array(witness.ops, pa.int64()))
    if witness.offset is None:
        return named
    low, high = witness.offset - _FAR, witness.offset + _FAR
    near = pc.and_(pc.greater_equal(table["offset"], low), pc.less_equal(table["offset"], high))
    return pc.or_(named, pc.fill_null(near, False))


def _excerpt(run: Path, history: History, witness: Witness, rows: Sequence[Row]) -> Excerpt | None:
    named = [row for row in rows if row["op"] in witness.ops]
    sends = [row for row in named if _word(history, "f", row) == "send"]
    values = frozenset(row["value"] for row in sends if row["value"] is not None) | (
        frozenset(row["value"] for row in named if row["value"] is not None and row["offset"] == witness.offset)
    )
    offsets = _chosen_offsets(witness, rows, values)
    if not offsets:
        return None
    replicas = list(_replicas(run, witness, offsets))
    lines = [*replicas, *_operations(history, witness, rows, offsets)]
    seen: dict[int, set[int]] = {}
    for line in lines:
        for offset, value in line.cells.items():
            if value is not None:
                seen.setdefault(offset, set()).add(value)
    conflicts = frozenset(offset for offset, several in seen.items() if len(several) > 1)
    assert witness.topic is not None and witness.part is not None
    return Excerpt(witness.topic, witness.part, offsets, tuple(lines), values, conflicts)


def _chosen_offsets(witness: Witness, rows: Sequence[Row], values: frozenset[int]) -> tuple[int, ...]:
    """The witness's own and where its values lie, then their neighbours, nearest first, while there is room."""
    centres = [] if witness.offset is None else [witness.offset]
    centres += sorted({row["offset"] for row in rows if row["offset"] is not None and row["value"] in values})
    centres = list(dict.fromkeys(centres))[: MOST_OFFSETS // 2]
    known = {row["offset"] for row in rows if row["offset"] is not None}
    chosen = dict.fromkeys(centres)
    for step in range(1, AROUND + 1):
        for centre in centres:
            for offset in (centre - step, centre + step):
                if offset in known and len(chosen) < MOST_OFFSETS:
                    chosen[offset] = None
    return tuple(sorted(chosen))


def _operations(history: History, witness: Witness, rows: Iterable[Row], offsets: Sequence[int]) -> Iterator[Line]:
    """Those the witness names first, then those that touch its place, in the order of time."""
    shown = set(offsets)
    by_op: dict[int, list[Row]] = {}
    for row in rows:
        if row["op"] is not None and (row["op"] in witness.ops or row["offset"] in shown):
            by_op.setdefault(row["op"], []).append(row)

    def rank(op: int) -> tuple[bool, bool, int]:
        here = by_op[op]
        touches = any(row["offset"] == witness.offset for row in here)
        return op not in witness.ops, not touches, here[0]["invoked"] or 0

    for op in sorted(sorted(by_op, key=rank)[:MOST_LINES], key=lambda op: (op not in witness.ops, by_op[op][0]["invoked"] or 0)):
        yield _line(history, op, by_op[op], shown, op in witness.ops)


def _line(history: History, op: int, rows: Sequence[Row], shown: set[int], named: bool) -> Line:
    first = rows[0]
    function, outcome = _word(history, "f", first), _word(history, "outcome", first)
    time = first["invoked"] if function == "send" or first["completed"] is None else first["completed"]
    title = "final read" if function == "poll" and first["phase"] == 2 else str(function)
    cells = {row["offset"]: row["value"] for row in rows if row["offset"] is not None and row["offset"] in shown}
    untold = tuple(row["value"] for row in rows if row["offset"] is None and row["value"] is not None)
    error = _word(history, "error", first)
    about = f"process {first['process']}, {(time or 0) / 1e9:.3f} s" + (f", {error}" if error else "")
    return Line(title, about, outcome, cells, untold, named)


def _replicas(run: Path, witness: Witness, offsets: Sequence[int]) -> Iterator[Line]:
    path = run / Record.FILE
    if not path.exists():
        return
    wanted = [("topic", "==", witness.topic), ("part", "==", witness.part), ("offset", ">=", offsets[0]), ("offset", "<=", offsets[-1])]
    found = pq.read_table(path, columns=["node", "offset", "value"], filters=wanted, partitioning=None).to_pylist()
    nodes = sorted({row["node"] for row in found})
    for node in nodes:
        cells = {row["offset"]: row["value"] for row in found if row["node"] == node and row["offset"] in offsets}
        yield Line(node, "replica's log", None, cells)


def _word(history: History, column: str, row: Row) -> str | None:
    number = row[column]
    return None if number is None else history.names[column][number]
