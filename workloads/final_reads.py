"""The final reads: `python -m workloads.final_reads --plan FILE --ends FILE --worker N`.

When faults are healed and the workers have ended, a new client reads every partition from its start to its end. The end is given, not
asked for: whoever stopped the clients has seen all replicas agree on it, whereas the high watermark of a new leader lags and would make
what was not read look lost. A partition whose end is not reached within the patience has no `completed` in finals.parquet: then nobody
can tell.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import KafkaException

from harness.history.beside import Final, write_rows
from harness.history.errors import HistoryError
from harness.history.recorder import Polled, Recorder
from harness.history.schema import Phase
from workloads.reading import PollResult, Reader
from workloads.rotation import Place
from workloads.session import Session
from workloads.worker_plan import load_plan

PATIENCE_S = 60.0
"""Without a message or an end reached."""

MOST = 5000
_POLL_S = 0.5
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """What is to be read: from `log_start` up to, not including, `end`."""

    topic: str
    part: int
    log_start: int
    end: int


class FinalReader:
    """Invariant: `_finals` has a row a partition; those without `completed` are still being read, from behind `last_read`."""

    def __init__(self, session: Session, reader: Reader, ends: Sequence[PartitionEnd]) -> None:
        self._session, self._reader = session, reader
        now = session.now()
        rows = [Final(one.topic, one.part, one.log_start, one.end, None, reader.process, now, None) for one in ends]
        self._finals: dict[Place, Final] = {(row.topic, row.part): row for row in rows}
        self._left = set(self._finals)
        for place, row in self._finals.items():
            if row.end <= row.log_start:
                self._complete(place, now)

    @property
    def finals(self) -> list[Final]:
        return list(self._finals.values())

    def read(self, patience_s: float = PATIENCE_S, report: Callable[[int, int], None] = lambda _read, _left: None) -> list[Final]:
        """Tells how many messages were read and how many partitions are left, now and then."""
        hope = time.monotonic() + patience_s
        while self._left and time.monotonic() < hope:
            self._assign_where_needed()
            result = self._reader.poll(MOST, _POLL_S)
            if self._note(result):
                hope = time.monotonic() + patience_s
            if result.error:
                self._drop(result.nowhere)
                time.sleep(_PAUSE_S)
            report(self._reader.messages, len(self._left))
        return self.finals

    def _assign_where_needed(self) -> None:
        """At first, after a new client, and for what was dropped."""
        if self._left <= self._reader.position.keys():
            return
        self._reader.assign({place: self._next(place) for place in sorted(self._left)})
        for place in self._left:
            self._finals[place] = replace(self._finals[place], process=self._reader.process)

    def _drop(self, nowhere: set[Place]) -> None:
        if nowhere:
            self._reader.assign({place: 0 for place in self._reader.position if place not in nowhere})

    def _note(self, result: PollResult) -> bool:
        """Whether anything was read or reached."""
        now = self._session.now()
        last = {} if result.error else _last_offsets(result.messages)
        for place, offset in last.items():
            row = self._finals[place] = replace(self._finals[place], last_read=offset)
            if offset + 1 >= row.end:
                self._complete(place, now)
        reached = [place for place, end in result.ends.items() if place in self._left and end >= self._finals[place].end]
        if not result.error:
            for place in reached:
                self._complete(place, now)
        return bool(last or reached)

    def _complete(self, place: Place, now: int) -> None:
        if place in self._left:
            self._left.remove(place)
            self._finals[place] = replace(self._finals[place], completed=now)

    def _next(self, place: Place) -> int:
        row = self._finals[place]
        return row.log_start if row.last_read is None else row.last_read + 1


def save_ends(path: Path, ends: Sequence[PartitionEnd]) -> None:
    path.write_text(json.dumps([[one.topic, one.part, one.log_start, one.end] for one in ends]))


def load_ends(path: Path) -> list[PartitionEnd]:
    return [PartitionEnd(*row) for row in json.loads(path.read_text())]


def run_final_reads(plan_path: Path, ends: Sequence[PartitionEnd], worker: int, patience_s: float, progress: Progress) -> list[Final]:
    """Read, record, write finals.parquet."""
    plan = load_plan(plan_path)
    with Recorder(Path(plan.run), worker, buckets=plan.buckets) as recorder:
        recorder.phase = Phase.FINAL
        session = Session(plan, worker, recorder)
        reader = Reader(session, tell_ends=True)
        finals = FinalReader(session, reader, ends).read(patience_s, progress.report)
        reader.close()
    write_rows(Path(plan.run), Final, finals)
    return finals


class Progress:
    """One line of JSON a second at most."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._next = 0.0

    def report(self, read: int, left: int) -> None:
        if time.monotonic() >= self._next or not left:
            self._next = time.monotonic() + 1.0
            print(json.dumps({"worker": self._worker, "state": "final", "messages": read, "partitions_left": left}), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workloads.final_reads", description="Read every partition to its end, and record it.")
    parser.add_argument("--plan", type=Path, required=True, help="JSON file of the workers' plan")
    parser.add_argument("--ends", type=Path, required=True, help="JSON file: [topic, partition, log start, end] of every partition")
    parser.add_argument("--worker", type=int, required=True, help="a worker number not yet used in the run")
    parser.add_argument("--patience", type=float, default=PATIENCE_S, help="seconds without progress after which it gives up")
    given = parser.parse_args(arguments)
    try:
        finals = run_final_reads(given.plan, load_ends(given.ends), given.worker, given.patience, Progress(given.worker))
    except (KafkaException, HistoryError, OSError, ValueError) as problem:
        print(f"final reads: {problem}", file=sys.stderr)
        return 255
    return 0 if all(final.completed is not None for final in finals) else 2


def _last_offsets(messages: Sequence[Polled]) -> dict[Place, int]:
    return {(topic, part): offset for topic, part, offset, *_ in messages if offset is not None}


if __name__ == "__main__":
    sys.exit(main())
