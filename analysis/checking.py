"""From a history to everything that was found in it: the passes over its buckets, run by Spark.

A bucket holds all rows of its partitions, so one look at each is enough for nearly everything and no row is ever moved. Only for what
crosses partitions there is a pass before (which unfinished transactions count) and one behind (circles), and only where there is something
to look for. A small history gets a task a core instead of one a bucket: starting a task costs more than checking one bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from analysis import committed, cycles, families
from analysis.bucket_tasks import Buckets, Job, check_buckets, committed_in, edges_within, together
from analysis.context import RunContext
from analysis.coverage import leader_changes
from analysis.findings import Finding, merge
from analysis.legality import Illegal
from analysis.material import Material
from analysis.metrics import Measures
from analysis.spark import Spark
from harness.history.buckets import bucket_of

ROWS_A_TASK = 250_000
FEW_ROWS = 20_000
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """`findings` by name, in the order of the table of anomalies; `states` are counts for `coverage`. See `Seen` for the others."""

    findings: Mapping[str, Finding] = field(default_factory=dict)
    measures: Measures = field(default_factory=Measures)
    states: Mapping[str, int] = field(default_factory=dict)
    illegal: Illegal = field(default_factory=Illegal)
    undecided: int = 0
    problems: tuple[str, ...] = ()


def check_history(
    spark: Spark, material: Material, context: RunContext, names: Collection[str] = families.ALL, progress: Progress = lambda _: None
) -> Checked:
    job = Job(material.history, context, tuple(names), material.records, material.batches, leader_changes(material.events))
    tasks = divide(buckets_of(material), spark.options.cores, material.history.rows)
    if material.unfinished:
        progress("looking for unfinished operations that took effect")
        known = committed.join(spark.run(tasks, partial(committed_in, job)))
        job = replace(job, context=replace(context, committed=known))
    progress(f"checking {material.history.rows:,} rows")
    joined = families.joined(job.names)
    seen = together(spark.run(tasks, partial(check_buckets, job)), joined)
    found = list(seen.findings)
    for one, extract in zip(joined, seen.extracts, strict=True):
        found += [] if extract is None else [finding for finding in one.judge(extract) if finding.name in job.names]
    if seen.spans is not None and len(seen.spans):
        progress("looking for circles")
        edges = [one for one in spark.run(tasks, partial(edges_within, job, seen.spans)) if one is not None]
        found += [finding for finding in cycles.search(cycles.join_edges(edges)) if finding.name in job.names] if edges else []
    return Checked(merge(found), seen.measures, seen.states, seen.illegal, seen.undecided, seen.problems)


def buckets_of(material: Material) -> list[int]:
    """Those with rows, and those of partitions that only a dump tells of."""
    dumped = material.records.groups.keys() | material.batches.groups.keys()
    count = material.history.buckets
    return sorted({*material.history.filled_buckets(), *(bucket_of(*place, count) for place in dumped)})


def divide(buckets: list[int], cores: int, rows: int) -> list[Buckets]:
    """Which buckets each task gets: each its own where there are many rows, a task a core where there are some, one for all of few."""
    tasks = 1 if rows < FEW_ROWS else min(len(buckets), max(cores, rows // ROWS_A_TASK))
    return [tuple(buckets[first::tasks]) for first in range(tasks)] if buckets else []
