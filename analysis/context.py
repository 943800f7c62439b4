"""What a check may know beyond the rows of one partition, and how a driver gets at it.

Nearly everything is found in one partition's rows. The rest is small and is told here: `RunContext` once for the run, and of it a
`Context` for each partition, with the dumps of its replicas where there are any.

The passes of a driver, each over the buckets, each task cutting its bucket with `partitions_of`:

1. Only where ops.parquet has an `info` operation: `committed.extract(log)` of every partition, `committed.join` of what came back:
   the operations that count as committed because another partition shows it.
2. `families.find(partition, context, names)` of every partition, and of each `Joined` family asked for, `extract(log)`; the extracts of
   a task are added up with its `join` before they leave it, and once more by the driver; its `judge` gives the last findings. For the
   cycles, `cycles.spans(log)` and `cycles.join_spans` in the same way.
3. For the cycles, and only where pass 2 found spans: `cycles.edges(log, spans)`, `cycles.join_edges`, then `cycles.search`.

A partition that was dumped but has no rows is checked as well: `empty_partition(topic, part)`. One that is too large for a task's memory
is checked in pieces, as far as that goes: see `pieces`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from analysis.dumps import Dumps
from analysis.partition import MISSING, Column
from analysis.places import Places
from harness.history.beside import Final

Rules = Literal["highwater", "jepsen"]
Place = tuple[str, int]

NO_OPS: Column = np.empty(0, np.int64)
NO_TIMES: Column = np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class FinalRead:
    """What all rows of finals.parquet about one partition say together. `end` and `last_read` are None where nobody knows."""

    complete: bool
    log_start: int
    end: int | None
    last_read: int | None
    invoked: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Service was promised, but at the times in `suspended`; `stalled` is when the harness itself stood still. Rows of start and end."""

    suspended: Column = field(default_factory=lambda: NO_TIMES)
    stalled: Column = field(default_factory=lambda: NO_TIMES)


@dataclass(frozen=True, slots=True)
class Context:
    """Of one partition. `committed`: info operations that count as committed for what another partition shows, sorted.

    `final` is None where finals.parquet says nothing of the partition, `dumps` where no replica was dumped, `progress` where none is
    promised. `ordered`: order is promised (idempotence, or one request in flight); None where nobody said.

    Where the rows are a piece of the partition (see `pieces`): `overruled` is where a value lies with a smaller one that the piece does not
    show, rows of offset and value; `places` are those of the whole; operations before `since` are there for what follows them.
    """

    rules: Rules = "highwater"
    ordered: bool | None = None
    committed: Column = field(default_factory=lambda: NO_OPS)
    final: FinalRead | None = None
    dumps: Dumps | None = None
    progress: Progress | None = None
    overruled: Column = field(default_factory=lambda: NO_TIMES)
    places: Places | None = None
    since: int = int(MISSING)

    @property
    def log_start(self) -> int:
        return 0 if self.final is None else self.final.log_start

    @property
    def finally_read(self) -> bool:
        return self.final is not None and self.final.complete


@dataclass(frozen=True, slots=True)
class RunContext:
    """Of the whole run; it goes to every task."""

    rules: Rules = "highwater"
    ordered: bool | None = None
    committed: Column = field(default_factory=lambda: NO_OPS)
    finals: Mapping[Place, FinalRead] = field(default_factory=dict)
    progress: Progress | None = None

    def of(self, topic: str, part: int, dumps: Dumps | None = None) -> Context:
        return Context(self.rules, self.ordered, self.committed, self.finals.get((topic, part)), dumps, self.progress)


def finals_of(rows: Iterable[Final]) -> dict[Place, FinalRead]:
    """Several readers of one partition are one read: complete if one of them was, with the largest of what they say."""
    found: dict[Place, list[Final]] = {}
    for row in rows:
        found.setdefault((row.topic, row.part), []).append(row)
    return {place: _together(about) for place, about in found.items()}


def _together(rows: list[Final]) -> FinalRead:
    return FinalRead(
        any(row.completed is not None for row in rows),
        max(row.log_start for row in rows),
        max(row.end for row in rows),
        max((row.last_read for row in rows if row.last_read is not None), default=None),
        min(row.invoked for row in rows),
    )
