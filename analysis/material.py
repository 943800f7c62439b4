"""What a run folder holds, read once: the history's files with what is wrong with some of them, and the small files beside it.

A file that is not sound does not end the analysis: the rest is analysed, and the verdict says that a part is missing. Only a folder that is
no run at all, or one whose workers have not finished writing, is refused. What grows with the history (rows, dumps) is not read here: it is
only found out where it lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from analysis.dump_files import DumpFile, index_dumps
from harness.history.beside import Batch, Event, Fault, Final, Operation, Record, read_rows
from harness.history.errors import HistoryError, MalformedFile
from harness.history.files import segments_left
from harness.history.plan import PLAN_FILE, Plan, read_plan
from harness.history.readers import History, history_files, inspect_all, join_files
from harness.history.schema import FIXED_WORDS, Outcome
from harness.history.stalls import EVENT, stall_events

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Material:
    """`problems` has a sentence for every file that could not be read. `unfinished`: an operation over several partitions ended info."""

    run: Path
    history: History
    problems: tuple[str, ...] = ()
    plan: Plan | None = None
    finals: tuple[Final, ...] = ()
    faults: tuple[Fault, ...] = ()
    events: tuple[Event, ...] = ()
    unfinished: bool = False
    records: DumpFile = field(default_factory=DumpFile)
    batches: DumpFile = field(default_factory=DumpFile)


def read_material(run: Path) -> Material:
    """A HistoryError where there is nothing that could be analysed."""
    paths = history_files(run)
    if left := segments_left(run):
        workers = ", ".join(map(str, left))
        raise HistoryError(f"{run}: workers {workers} have not finished writing the history; it can be checked when the run is over")
    problems: list[str] = []

    def sound(read: Callable[[], Read], otherwise: Read) -> Read:
        try:
            return read()
        except MalformedFile as problem:
            problems.append(str(problem))
            return otherwise

    files, refused = inspect_all(paths)
    problems += [str(problem) for problem in refused]
    events: list[Event] = sound(lambda: read_rows(run, Event), list[Event]())
    if not any(event.event == EVENT for event in events):
        events += sound(lambda: stall_events(run), list[Event]())
    return Material(
        run=run,
        history=join_files(files),
        plan=sound(lambda: read_plan(run), None) if (run / PLAN_FILE).exists() else None,
        finals=tuple(sound(lambda: read_rows(run, Final), list[Final]())),
        faults=tuple(sound(lambda: read_rows(run, Fault), list[Fault]())),
        events=tuple(events),
        unfinished=sound(lambda: _has_unfinished(run / Operation.FILE), False),
        records=sound(lambda: index_dumps(run, Record), DumpFile()),
        batches=sound(lambda: index_dumps(run, Batch), DumpFile()),
        problems=tuple(problems),
    )


def _has_unfinished(path: Path) -> bool:
    """Row group by row group: the file is as long as there are transactions."""
    if not path.exists():
        return False
    info = FIXED_WORDS["outcome"].index(Outcome.INFO.name.lower())
    try:
        with pq.ParquetFile(path) as parquet:
            return any(info in batch["outcome"].to_pylist() for batch in parquet.iter_batches(columns=["outcome"]))
    except (pa.ArrowException, OSError, KeyError) as problem:
        raise MalformedFile(path, f"cannot be read: {str(problem).splitlines()[0]}") from None
