"""What runs on Spark's executors: each task reads its own buckets of the history, checks one partition after the other and forgets it.

A task gives back counts, a few witnesses and small extracts; nothing of it is as long as the history. A file that cannot be read costs its
rows and is named; the rest of the bucket is checked all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from analysis import committed, coverage, cycles, families, legality, metrics
from analysis.check import Joined
from analysis.columns import Rows
from analysis.context import NO_TIMES, RunContext
from analysis.cycles import Edges, Spans
from analysis.dump_files import DumpFile, Place
from analysis.dumps import Dumps, dumps_of
from analysis.findings import Finding
from analysis.log import Log
from analysis.own_duplicates import without_own_retries
from analysis.partition import Column, Rest, empty_partition, partitions_of
from analysis.seen import Seen, together
from harness.history.buckets import bucket_of
from harness.history.errors import MalformedFile
from harness.history.readers import History, HistoryFile
from harness.history.schema import NO_PARTITION

Buckets = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of a history are told. `names` are the anomalies asked for, `leader_changes` those that `coverage` looks at.

    `spans` are the stretches of time that may hold a circle, once they are known. Whether the history is legal, what it measures and which
    states it reached is asked for unless only the anomalies matter (`alone`).
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

    @property
    def columns(self) -> list[str]:
        beside = () if self.alone else (*legality.COLUMNS, *metrics.COLUMNS, *coverage.COLUMNS)
        return list(dict.fromkeys((*families.columns_for(self.names), *beside)))


def check_buckets(job: Job, buckets: Buckets) -> Seen:
    """The pass that looks at everything."""
    return together([_check_bucket(job, bucket) for bucket in buckets], families.joined(job.names))


def committed_in(job: Job, buckets: Buckets) -> Column:
    """The pass before it: unfinished operations that a partition shows to be committed."""
    logs = (log for bucket in buckets for log in _logs(job, _Bucket(job, bucket, [*families.ALWAYS, *committed.COLUMNS])))
    return committed.join([committed.extract(log) for log in logs])


def edges_within(job: Job, buckets: Buckets) -> Edges | None:
    """The pass behind it: dependencies inside the spans."""
    assert job.spans is not None
    logs = (log for bucket in buckets for log in _logs(job, _Bucket(job, bucket, [*families.ALWAYS, *cycles.COLUMNS])))
    found = [edges for log in logs if (edges := cycles.edges(log, job.spans)) is not None]
    return cycles.join_edges(found) if found else None


class _Bucket:
    """The rows of a bucket, of those files that can be read; `rest` reads more columns of the same rows."""

    def __init__(self, job: Job, bucket: int, columns: Sequence[str]) -> None:
        self.problems: list[str] = []
        self._job = job
        self._number = bucket
        self._sound: list[HistoryFile] = []
        tables: list[pa.Table] = []
        for file in job.history.files:
            try:
                tables += self._only(file).read_each(bucket, columns)
                self._sound.append(file)
            except MalformedFile as problem:
                self.problems.append(str(problem))
        self.rows = pa.concat_tables(tables) if tables else self._only().read(bucket, columns)

    def rest(self, columns: Sequence[str]) -> pa.Table:
        return self._only(*self._sound).read(self._number, columns)

    def dumps(self) -> dict[Place, Dumps]:
        if self._number == NO_PARTITION:
            return {}
        return dumps_of(self._dumped(self._job.records), self._dumped(self._job.batches))

    def _dumped(self, file: DumpFile) -> pa.Table | None:
        places = [place for place in file.groups if bucket_of(*place, self._job.history.buckets) == self._number]
        try:
            return file.only(places).read()
        except MalformedFile as problem:
            self.problems.append(str(problem))
            return None

    def _only(self, *files: HistoryFile) -> History:
        return History(files, self._job.history.buckets, self._job.history.names)


def _check_bucket(job: Job, number: int) -> Seen:
    bucket = _Bucket(job, number, job.columns)
    joined = families.joined(job.names)
    own = Seen() if job.alone else _beside(job, bucket.rows)
    dumps = bucket.dumps()
    parts = [_check_log(log, job.names, joined) for log in _logs(job, bucket, dumps)]
    return together([own, *parts, Seen(problems=tuple(bucket.problems))], joined)


def _beside(job: Job, rows: pa.Table) -> Seen:
    columns = Rows(rows, job.history.names)
    return Seen(
        measures=metrics.measure(columns),
        states=coverage.extract(columns, job.leader_changes),
        illegal=legality.illegal_rows(columns),
    )


def _check_log(log: Log, names: Sequence[str], joined: Sequence[Joined]) -> Seen:
    return Seen(
        findings=tuple(_with_own_retries(log, finding) for finding in families.find_in(log, names)),
        extracts=tuple(one.extract(log) for one in joined),
        spans=cycles.spans(log) if families.has_cycles(names) else None,
        undecided=_undecided_gaps(log) if "unavailable" in names else 0,
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


def _logs(job: Job, bucket: _Bucket, dumps: dict[Place, Dumps] | None = None) -> Iterator[Log]:
    """Partitions with rows, then those that only a dump tells of."""
    left = dict(dumps or {})
    rest: Rest = bucket.rest
    for partition in partitions_of(bucket.rows, job.history.names, rest):
        dumped = left.pop((partition.topic, partition.part), None)
        yield Log(partition, job.context.of(partition.topic, partition.part, dumped))
    for (topic, part), dumped in left.items():
        yield Log(empty_partition(topic, part), job.context.of(topic, part, dumped))
