"""What runs on Spark's executors: each task reads its own buckets of the history, checks one partition after the other and forgets it.

A task gives back counts, a few witnesses and small extracts; nothing of it is as long as the history. A file that cannot be read costs its
rows and is named; the rest of the bucket is checked all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from analysis import committed, coverage, cycles, families, legality, metrics
from analysis.check import Joined
from analysis.context import NO_TIMES, RunContext
from analysis.cycles import Edges
from analysis.dump_files import DumpFile, Place
from analysis.dumps import Dumps, dumps_of
from analysis.findings import Finding, merge
from analysis.legality import Illegal, add_up
from analysis.log import Log
from analysis.metrics import Measures
from analysis.own_duplicates import without_own_retries
from analysis.partition import Column, empty_partition, partitions_of
from harness.history.buckets import bucket_of
from harness.history.errors import MalformedFile
from harness.history.readers import History
from harness.history.schema import NO_PARTITION

Buckets = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of a history are told. `names` are the anomalies asked for, `leader_changes` those that `coverage` looks at."""

    history: History
    context: RunContext
    names: tuple[str, ...] = families.ALL
    records: DumpFile = field(default_factory=DumpFile)
    batches: DumpFile = field(default_factory=DumpFile)
    leader_changes: Mapping[Place, Sequence[int]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        asked = (*families.columns_for(self.names), *legality.COLUMNS, *metrics.COLUMNS, *coverage.COLUMNS)
        return list(dict.fromkeys(asked))


@dataclass(frozen=True, slots=True)
class Seen:
    """Of some buckets; `together` adds up. `extracts` are those of `families.joined`, in its order. `problems` are sentences.

    `undecided` gaps of service would be `unavailable`, had the harness itself not stood still in them.
    """

    findings: tuple[Finding, ...] = ()
    extracts: tuple[Any, ...] = ()
    spans: Column | None = None
    measures: Measures = field(default_factory=Measures)
    states: Counter[str] = field(default_factory=Counter)
    illegal: Illegal = field(default_factory=Illegal)
    undecided: int = 0
    problems: tuple[str, ...] = ()


def check_buckets(job: Job, buckets: Buckets) -> Seen:
    """The pass that looks at everything."""
    return together([_check_bucket(job, bucket) for bucket in buckets], families.joined(job.names))


def committed_in(job: Job, buckets: Buckets) -> Column:
    """The pass before it: unfinished operations that a partition shows to be committed."""
    columns = [*families.ALWAYS, *committed.COLUMNS]
    return committed.join([committed.extract(log) for bucket in buckets for log in _logs(job, _read(job, bucket, columns, []))])


def edges_within(job: Job, spans: Column, buckets: Buckets) -> Edges | None:
    """The pass behind it: dependencies inside the stretches of time that may hold a circle."""
    columns = [*families.ALWAYS, *cycles.COLUMNS]
    logs = (log for bucket in buckets for log in _logs(job, _read(job, bucket, columns, [])))
    found = [edges for log in logs if (edges := cycles.edges(log, spans)) is not None]
    return cycles.join_edges(found) if found else None


def together(parts: Sequence[Seen], joined: Sequence[Joined]) -> Seen:
    spans = [part.spans for part in parts if part.spans is not None]
    return Seen(
        findings=tuple(merge(finding for part in parts for finding in part.findings).values()),
        extracts=tuple(_join(one.join, [part.extracts[place] for part in parts if part.extracts]) for place, one in enumerate(joined)),
        spans=cycles.join_spans(spans) if spans else None,
        measures=metrics.merge_all(part.measures for part in parts),
        states=sum((part.states for part in parts), Counter()),
        illegal=add_up(part.illegal for part in parts),
        undecided=sum(part.undecided for part in parts),
        problems=tuple(problem for part in parts for problem in part.problems),
    )


def _check_bucket(job: Job, bucket: int) -> Seen:
    problems: list[str] = []
    rows = _read(job, bucket, job.columns, problems)
    joined = families.joined(job.names)
    own = Seen(
        measures=metrics.measure(rows, job.history.names),
        states=coverage.extract(rows, job.history.names, job.leader_changes),
        illegal=legality.illegal_rows(rows, job.history.names),
    )
    dumps = _dumps(job, bucket, problems)
    parts = [_check_log(log, job.names, joined) for log in _logs(job, rows, dumps)]
    return together([own, *parts, Seen(problems=tuple(problems))], joined)


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


def _logs(job: Job, rows: pa.Table, dumps: dict[Place, Dumps] | None = None) -> Iterator[Log]:
    """Partitions with rows, then those that only a dump tells of."""
    left = dict(dumps or {})
    for partition in partitions_of(rows, job.history.names):
        dumped = left.pop((partition.topic, partition.part), None)
        yield Log(partition, job.context.of(partition.topic, partition.part, dumped))
    for (topic, part), dumped in left.items():
        yield Log(empty_partition(topic, part), job.context.of(topic, part, dumped))


def _read(job: Job, bucket: int, columns: Sequence[str], problems: list[str]) -> pa.Table:
    tables: list[pa.Table] = []
    for file in job.history.files:
        try:
            tables += History((file,), job.history.buckets, job.history.names).read_each(bucket, columns)
        except MalformedFile as problem:
            problems.append(str(problem))
    return pa.concat_tables(tables) if tables else job.history.read(_NO_BUCKET, columns)


def _dumps(job: Job, bucket: int, problems: list[str]) -> dict[Place, Dumps]:
    if bucket == NO_PARTITION:
        return {}
    tables = []
    for file in (job.records, job.batches):
        places = [place for place in file.groups if bucket_of(*place, job.history.buckets) == bucket]
        try:
            tables.append(file.only(places).read())
        except MalformedFile as problem:
            problems.append(str(problem))
            tables.append(None)
    return dumps_of(*tables)


def _join(join: Callable[[Sequence[Any]], Any], found: Sequence[Any]) -> Any | None:
    told = [one for one in found if one is not None]
    return join(told) if told else None


_NO_BUCKET = -2
"""Of which every history has nothing: an empty table with the right columns."""
