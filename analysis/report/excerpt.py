"""The few rows of a history that one witness is about: its partition's log around the place, as each replica and each operation has it.

Read from the files when the report is written, a file's bucket at a time and at first only the columns by which rows are chosen, so that
no more is held than one file has. Offsets that lie far apart are shown side by side with a gap between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from analysis.findings import Witness
from harness.history.beside import Record
from harness.history.buckets import bucket_of
from harness.history.readers import History
from harness.history.schema import Phase

AROUND = 4
MOST_OFFSETS = 16
MOST_LINES = 12
_COLUMNS = ("op", "micro", "process", "f", "outcome", "error", "phase", "invoked", "completed", "topic", "part", "value", "offset")
Row = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Line:
    """What one replica or operation says: the value at each offset. `sent` are values it sent without being told where they lie.

    `whole`: it has the log from start to end, so that what it lacks is absent.
    """

    title: str
    about: str
    outcome: str | None
    cells: Mapping[int, int | None]
    sent: tuple[int, ...] = ()
    named: bool = False
    whole: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`offsets` rise; `own` are the witness's, `conflicts` those with more than one value. `values`: of the operations it names."""

    topic: str
    part: int
    offsets: tuple[int, ...]
    lines: tuple[Line, ...]
    values: frozenset[int] = frozenset()
    own: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()


def excerpts(run: Path, history: History, witnesses: Sequence[Witness]) -> dict[Witness, Excerpt]:
    """Of the witnesses that have a place; one without rows there has none."""
    placed: dict[tuple[str, int], list[Witness]] = {}
    for one in witnesses:
        if one.topic is not None and one.part is not None and (one.offset is not None or one.ops):
            placed.setdefault((one.topic, one.part), []).append(one)
    found: dict[Witness, Excerpt] = {}
    for (topic, part), some in placed.items():
        for witness, rows in _rows_about(history, topic, part, some).items():
            if excerpt := _excerpt(run, history, witness, rows):
                found[witness] = excerpt
    return found


@dataclass(frozen=True, slots=True)
class _About:
    """Rows of the operations a witness names, the values these are about, the offsets where those lie, and the rows around."""

    named: list[Row]
    values: frozenset[int]
    own: list[int]
    around: list[Row]


def _rows_about(history: History, topic: str, part: int, witnesses: Sequence[Witness]) -> dict[Witness, _About]:
    """All witnesses of a partition in three looks at its rows: each tells what the next has to look for."""
    named = _rows(history, topic, part, "op", {op for witness in witnesses for op in witness.ops})
    own_named = {witness: [row for row in named if row["op"] in witness.ops] for witness in witnesses}
    values = {witness: _values(history, witness, own_named[witness]) for witness in witnesses}
    placed = _rows(history, topic, part, "value", frozenset[int]().union(*values.values()))
    own = {witness: _own_offsets(witness, [row for row in placed if row["value"] in values[witness]]) for witness in witnesses}
    near = {witness: {offset + step for offset in own[witness] for step in range(-AROUND, AROUND + 1)} for witness in witnesses}
    around = _rows(history, topic, part, "offset", set[int]().union(*near.values()))
    return {
        witness: _About(own_named[witness], values[witness], own[witness], [row for row in around if row["offset"] in near[witness]])
        for witness in witnesses
    }


def _rows(history: History, topic: str, part: int, column: str, numbers: Collection[int]) -> list[Row]:
    """Those of a partition with one of the numbers in a column; only where a file has some are all its columns read."""
    if topic not in history.names["topic"] or not numbers:
        return []
    bucket, number, wanted = (
        bucket_of(topic, part, history.buckets),
        history.names["topic"].index(topic),
        pa.array(sorted(numbers), pa.int64()),
    )
    found: list[Row] = []
    for file in history.files:
        one = replace(history, files=(file,))
        keys = one.read(bucket, ("topic", "part", column))
        here = pc.and_(pc.equal(keys["topic"], number), pc.equal(keys["part"], part))
        chosen = pc.indices_nonzero(pc.fill_null(pc.and_(here, pc.is_in(keys[column], wanted)), False))
        if len(chosen):
            found += one.read(bucket, _COLUMNS).take(chosen).to_pylist()
    return found


def _excerpt(run: Path, history: History, witness: Witness, about: _About) -> Excerpt | None:
    assert witness.topic is not None and witness.part is not None
    offsets = _with_neighbours(about.own, about.around)
    if not offsets:
        return None
    rows = {(row["op"], row["micro"]): row for row in (*about.named, *about.around)}
    lines = [*_replicas(run, witness, offsets), *_operations(history, witness, rows.values(), offsets, set(about.own))]
    if not lines:
        return None
    return Excerpt(witness.topic, witness.part, offsets, tuple(lines), about.values, frozenset(about.own), _conflicts(lines))


def _values(history: History, witness: Witness, named: Sequence[Row]) -> frozenset[int]:
    """That the named operations sent, or polled at the witness's offset."""
    ours = (row for row in named if _word(history, "f", row) == "send" or row["offset"] == witness.offset)
    return frozenset(row["value"] for row in ours if row["value"] is not None)


def _conflicts(lines: Sequence[Line]) -> frozenset[int]:
    seen: dict[int, set[int]] = {}
    for line in lines:
        for offset, value in line.cells.items():
            if value is not None:
                seen.setdefault(offset, set()).add(value)
    return frozenset(offset for offset, several in seen.items() if len(several) > 1)


def _own_offsets(witness: Witness, rows: Sequence[Row]) -> list[int]:
    """The witness's own, and where its values lie."""
    found = [] if witness.offset is None else [witness.offset]
    found += sorted({row["offset"] for row in rows if row["offset"] is not None})
    return list(dict.fromkeys(found))[: MOST_OFFSETS // 2]


def _with_neighbours(own: Sequence[int], rows: Sequence[Row]) -> tuple[int, ...]:
    """And those about them that somebody knows, nearest first, while there is room."""
    known = {row["offset"] for row in rows if row["offset"] is not None}
    chosen = dict.fromkeys(own)
    for step in range(1, AROUND + 1):
        for centre in own:
            for offset in (centre - step, centre + step):
                if offset in known and len(chosen) < MOST_OFFSETS:
                    chosen[offset] = None
    return tuple(sorted(chosen))


def _operations(history: History, witness: Witness, rows: Iterable[Row], offsets: Sequence[int], own: set[int]) -> Iterator[Line]:
    """All others together first, then each that the witness names or that touches its places, in the order of time."""
    by_op: dict[int, list[Row]] = {}
    for row in rows:
        if row["op"] is not None and (row["op"] in witness.ops or row["offset"] in offsets):
            by_op.setdefault(row["op"], []).append(row)
    touching = [op for op, here in by_op.items() if not _is_final(history, here[0]) and any(row["offset"] in own for row in here)]
    alone = sorted({*touching, *(by_op.keys() & set(witness.ops))}, key=lambda op: (op not in witness.ops, by_op[op][0]["invoked"] or 0))
    others = [row for op, here in by_op.items() for row in here if op not in alone or _is_final(history, row)]
    yield from _together(history, others, offsets)
    for op in sorted(alone[:MOST_LINES], key=lambda op: by_op[op][0]["invoked"] or 0):
        yield _line(history, by_op[op], offsets, op in witness.ops)


def _together(history: History, rows: Sequence[Row], offsets: Sequence[int]) -> Iterator[Line]:
    """One line each for what others were told, polled, and read in the end."""
    kinds: dict[str, dict[int, int | None]] = {"acknowledged": {}, "polled": {}, "final read": {}}
    for row in rows:
        if _word(history, "outcome", row) == "ok" and row["offset"] is not None and row["offset"] in offsets:
            title = {"send": "acknowledged", "poll": "polled"}.get(str(_word(history, "f", row)))
            if title:
                kinds["final read" if _is_final(history, row) else title][row["offset"]] = row["value"]
    for title, cells in kinds.items():
        if cells:
            final = title == "final read"
            yield Line(title, "from start to end" if final else "by all other operations", "ok", cells, whole=final)


def _line(history: History, rows: Sequence[Row], offsets: Sequence[int], named: bool) -> Line:
    first = rows[0]
    function, outcome = _word(history, "f", first), _word(history, "outcome", first)
    time = first["invoked"] if function == "send" or first["completed"] is None else first["completed"]
    title = "final read" if _is_final(history, first) else str(function)
    cells = {row["offset"]: row["value"] for row in rows if row["offset"] is not None and row["offset"] in offsets}
    untold = tuple(row["value"] for row in rows if row["offset"] is None and row["value"] is not None)
    about = f"process {first['process']}, {(time or 0) / 1e9:.3f} s"
    return Line(title, about, outcome, cells, untold, named, error=_word(history, "error", first))


def _is_final(history: History, row: Row) -> bool:
    return _word(history, "f", row) == "poll" and row["phase"] == Phase.FINAL


def _replicas(run: Path, witness: Witness, offsets: Sequence[int]) -> Iterator[Line]:
    path = run / Record.FILE
    if not path.exists():
        return
    wanted = [("topic", "==", witness.topic), ("part", "==", witness.part), ("offset", ">=", offsets[0]), ("offset", "<=", offsets[-1])]
    found = pq.read_table(path, columns=["node", "offset", "value"], filters=wanted, partitioning=None).to_pylist()
    nodes = sorted({row["node"] for row in found})
    for node in nodes:
        cells = {row["offset"]: row["value"] for row in found if row["node"] == node and row["offset"] in offsets}
        yield Line(node, "replica's log", None, cells, whole=True)


def _word(history: History, column: str, row: Row) -> str | None:
    number = row[column]
    return None if number is None else history.names[column][number]
