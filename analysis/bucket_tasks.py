"""What runs on Spark's executors: each task reads its own buckets of the history, checks one partition after the other and forgets it.

A task gives back counts, a few witnesses and small extracts; nothing of it is as long as the history. A file that cannot be read costs its
rows and is named; the rest of the bucket is checked all the same.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pyarrow as pa  # type: ignore[import-untyped]

from analysis import committed, coverage, cycles, families, legality, metrics
from analysis.bucket import Bucket, Spot
from analysis.check import Joined
from analysis.columns import Rows
from analysis.context import NO_TIMES, RunContext
from analysis.cycles import Edges, Spans
from analysis.dump_files import DumpFile, Place
from analysis.dumps import Dumps, dumps_of
from analysis.findings import Finding
from analysis.log import Log
from analysis.own_duplicates import without_own_retries
from analysis.partition import Column, Columns, Partition, empty_partition, numbers_in, partitions_of
from analysis.pieces import COLUMNS as PIECE_COLUMNS
from analysis.pieces import By, InPieces, ranges
from analysis.seen import Seen, together
from harness.history.buckets import bucket_of
from harness.history.errors import MalformedFile
from harness.history.readers import History
from harness.history.schema import NO_PARTITION

Buckets = tuple[int, ...]
_Sight = TypeVar("_Sight")


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of a history are told. `names` are the anomalies asked for, `leader_changes` those that `coverage` looks at.

    `spans` are the stretches of time that may hold a circle, once they are known. Whether the history is legal, what it measures and which
    states it reached is asked for unless only the anomalies matter (`alone`). `most_rows`: as many fit into a task's memory at once.
    """

    run: Path
    history: History
    context: RunContext
    names: tuple[str, ...] = families.ALL
    records: DumpFile = field(default_factory=DumpFile)
    batches: DumpFile = field(default_factory=DumpFile)
    leader_changes: Mapping[Place, Sequence[int]] = field(default_factory=dict)
    spans: Spans | None = None
    alone: bool = False
    most_rows: int = sys.maxsize

    def bucket(self, number: int) -> Bucket:
        return Bucket(self.history, number, self.most_rows)

    @property
    def columns(self) -> list[str]:
        beside = () if self.alone else (*legality.COLUMNS, *metrics.COLUMNS, *coverage.COLUMNS)
        return list(dict.fromkeys((*families.columns_for(self.names), *beside)))


def check_buckets(job: Job, buckets: Buckets) -> Seen:
    """The pass that looks at everything."""
    return together([_check_bucket(job, bucket) for bucket in buckets], families.joined(job.names))


def committed_in(job: Job, buckets: Buckets) -> Column:
    """The pass before it: unfinished operations that a partition shows to be committed."""
    found = []
    for bucket in (job.bucket(number) for number in buckets):
        found += [committed.extract(log) for log in _logs(job, bucket, [*families.ALWAYS, *committed.COLUMNS])]
        for spot in bucket.too_large():
            found += _Pieces(job, bucket, spot).each("value", committed.extract)
    return committed.join(found)


def edges_within(job: Job, buckets: Buckets) -> Edges | None:
    """The pass behind it: dependencies inside the spans."""
    assert job.spans is not None
    logs = (log for number in buckets for log in _logs(job, job.bucket(number), [*families.ALWAYS, *cycles.COLUMNS]))
    found = [edges for log in logs if (edges := cycles.edges(log, job.spans)) is not None]
    return cycles.join_edges(found) if found else None


def _check_bucket(job: Job, number: int) -> Seen:
    bucket = job.bucket(number)
    joined = families.joined(job.names)
    dumps = _dumps(job, bucket)
    parts: list[Seen] = []
    for rows, rest in bucket.tables(job.columns):
        numbers = numbers_in(rows, rest)
        parts += [] if job.alone else [_beside(job, rows, numbers)]
        parts += [_check_log(log, job, joined) for log in _logs_in(job, rows, numbers, dumps)]
    parts += [_check_in_pieces(job, bucket, spot, rows, dumps) for spot, rows in bucket.too_large().items()]
    left = (Log(empty_partition(*place), job.context.of(*place, dumped)) for place, dumped in dumps.items())
    parts += [_check_log(log, job, joined) for log in left]
    return together([*parts, Seen(problems=tuple(bucket.problems))], joined)


def _check_in_pieces(job: Job, bucket: Bucket, spot: Spot, rows: int, dumps: dict[Place, Dumps]) -> Seen:
    """What can be seen of a partition that is too large for one look, and what cannot."""
    pieces = _Pieces(job, bucket, spot)
    context = job.context.of(*pieces.place, dumps.pop(pieces.place, None))
    looked_at = InPieces(pieces, context, job.names)
    found = tuple(looked_at.findings())
    beside = [] if job.alone else list(map(partial(_beside_in_pieces, job), pieces.tables("op")))
    beside += [] if job.alone else [Seen(states=states) for states in pieces.each("value", coverage.late_landings)]
    missing = [name for name in job.names if name in looked_at.unjudged]
    topic, part = pieces.place
    sentence = f"{topic}-{part} has {rows:,} rows, too many for the memory given, so these were not looked for in it: {', '.join(missing)}."
    seen = Seen(findings=found, spans=looked_at.spans, unjudged=(sentence,) if missing else ())
    return together([seen, *beside], families.joined(job.names))


class _Pieces:
    """Of one partition, by ranges of a column; `columns` is what each has. None is held while the next is read."""

    def __init__(self, job: Job, bucket: Bucket, spot: Spot) -> None:
        self._job, self._bucket, self._spot = job, bucket, spot
        self.place: Place = job.history.names["topic"][spot[0]], spot[1]
        self.columns = list(dict.fromkeys((*families.ALWAYS, *PIECE_COLUMNS, *job.columns)))

    def __call__(self, by: By) -> Iterator[Partition]:
        yield from chain.from_iterable(map(self._partitions, self.tables(by)))

    def tables(self, by: By) -> Iterator[pa.Table]:
        for within in ranges(*self._bucket.ranges_of(self._spot, by)):
            yield self._bucket.piece(self._spot, by, within, self.columns)

    def each(self, by: By, see: Callable[[Log], _Sight]) -> Iterator[_Sight]:
        context = self._job.context.of(*self.place)
        return map(lambda piece: see(Log(piece, context)), self(by))

    def _partitions(self, table: pa.Table) -> Iterator[Partition]:
        return partitions_of(table, self._job.history.names)


def _beside_in_pieces(job: Job, table: pa.Table) -> Seen:
    """A piece has not all sends of a time, so that its partition seems to be without service."""
    seen = _beside(job, table)
    return replace(seen, measures=replace(seen.measures, gaps=()))


def _beside(job: Job, rows: pa.Table, numbers: Columns | None = None) -> Seen:
    columns = Rows(rows, job.history.names, numbers)
    return Seen(
        measures=metrics.measure(columns),
        states=coverage.extract(columns, job.leader_changes),
        illegal=legality.illegal_rows(columns),
    )


def _check_log(log: Log, job: Job, joined: Sequence[Joined]) -> Seen:
    return Seen(
        findings=tuple(_with_own_retries(log, finding) for finding in families.find_in(log, job.names)),
        extracts=tuple(one.extract(log) for one in joined),
        spans=cycles.spans(log) if families.has_cycles(job.names) else None,
        states=Counter() if job.alone else coverage.late_landings(log),
        undecided=_undecided_gaps(log) if "unavailable" in job.names else 0,
    )


def _undecided_gaps(log: Log) -> int:
    progress = log.context.progress
    if progress is None or not len(progress.stalled):
        return 0
    unmoved = Log(log.rows, replace(log.context, progress=replace(progress, stalled=NO_TIMES)))
    with_stalls, without = (sum(found.count for found in families.find_in(each, ("unavailable",))) for each in (log, unmoved))
    return without - with_stalls


def _with_own_retries(log: Log, finding: Finding) -> Finding:
    return finding if finding.name != "duplicate" or log.context.dumps is None else without_own_retries(log, finding)


def _logs(job: Job, bucket: Bucket, columns: Sequence[str]) -> Iterator[Log]:
    """Of the partitions that can be looked at whole."""
    for rows, rest in bucket.tables(columns):
        yield from _logs_in(job, rows, numbers_in(rows, rest), {})


def _logs_in(job: Job, rows: pa.Table, numbers: Columns, dumps: dict[Place, Dumps]) -> Iterator[Log]:
    for partition in partitions_of(rows, job.history.names, numbers):
        place = partition.topic, partition.part
        yield Log(partition, job.context.of(*place, dumps.pop(place, None)))


def _dumps(job: Job, bucket: Bucket) -> dict[Place, Dumps]:
    if bucket.number == NO_PARTITION:
        return {}
    return dumps_of(*(_dumped(file, bucket) for file in (job.records, job.batches)))


def _dumped(file: DumpFile, bucket: Bucket) -> pa.Table | None:
    places = [place for place in file.groups if bucket_of(*place, bucket.history.buckets) == bucket.number]
    try:
        return file.only(places).read()
    except MalformedFile as problem:
        bucket.problems.append(str(problem))
        return None
