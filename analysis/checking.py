"""From histories to everything that was found in them: the passes over their buckets, run by Spark.

A bucket holds all rows of its partitions, so one look at each is enough for nearly everything and no row is ever moved. Only for what
crosses partitions there is a pass before (which unfinished transactions count) and one behind (circles), and only where there is something
to look for. Many histories go through each pass together. What is small shares a task: starting one costs more than checking a bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heapreplace
from typing import TypeVar

from analysis import committed, cycles, families
from analysis.bucket_tasks import Buckets, Job, check_buckets, committed_in, edges_within
from analysis.context import RunContext
from analysis.coverage import leader_changes
from analysis.cycles import Edges
from analysis.findings import Finding, merge
from analysis.legality import Illegal
from analysis.material import Material
from analysis.metrics import Measures
from analysis.seen import Seen, together
from analysis.spark import Spark
from harness.history.buckets import bucket_of

ROWS_A_TASK = 250_000
"""More are not put into one task, unless they are in one bucket."""
TASKS_A_CORE = 4
"""A task costs some hundredths of a second, so there are only as many as let the cores end at about the same time."""
FEW_ROWS = 20_000
"""Fewer are not worth a task of their own."""

BYTES_A_ROW = 400
"""What a task needs for a row of a bucket, with all columns and everything that is worked out from them."""

Result = TypeVar("Result")
Portion = tuple[int, Buckets]
"""Of which history, and which of its buckets."""
Task = tuple[Portion, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """`findings` by name, in the order of the table of anomalies. See `Seen` for the others."""

    findings: Mapping[str, Finding] = field(default_factory=dict)
    measures: Measures = field(default_factory=Measures)
    illegal: Illegal = field(default_factory=Illegal)
    problems: tuple[str, ...] = ()
    states: Mapping[str, int] = field(default_factory=dict)
    undecided: int = 0
    unjudged: tuple[str, ...] = ()


def check_histories(
    spark: Spark, asked: Sequence[tuple[Material, RunContext]], names: Collection[str] = families.ALL, *, alone: bool = False
) -> list[Checked]:
    """In their order. Values are unique in a run only, so nothing of one history meets another's.

    `alone`: the anomalies asked for and nothing else; not whether the history is legal, what it measures or which states it reached.
    """
    most_rows = spark.options.task_memory_mb * 2**20 // BYTES_A_ROW
    jobs = {
        number: replace(_job(material, context, names), alone=alone, most_rows=most_rows)
        for number, (material, context) in enumerate(asked)
    }
    tasks = partial(tasks_for, cores=spark.options.cores, local=spark.options.is_local)
    portions = {number: divide(buckets_of(asked[number][0]), tasks(job.history.rows)) for number, job in jobs.items()}

    unfinished = {number: portions[number] for number, (material, _) in enumerate(asked) if material.unfinished}
    for number, shown in _pass(spark, jobs, unfinished, committed_in).items():
        jobs[number] = replace(jobs[number], context=replace(jobs[number].context, committed=committed.join(shown)))

    joined = families.joined(names)
    seen = {number: together(parts, joined) for number, parts in _pass(spark, jobs, portions, check_buckets).items()}
    jobs |= {number: replace(jobs[number], spans=one.spans) for number, one in seen.items()}
    circling = {number: portions[number] for number, one in seen.items() if one.spans is not None and len(one.spans)}
    edges = _pass(spark, jobs, circling, edges_within)
    return [_checked(seen[number], edges.get(number, []), names) for number in jobs]


def check_history(
    spark: Spark, material: Material, context: RunContext, names: Collection[str] = families.ALL, *, alone: bool = False
) -> Checked:
    return check_histories(spark, [(material, context)], names, alone=alone)[0]


def buckets_of(material: Material) -> dict[int, int]:
    """How many rows each has: those with rows, and those of partitions that only a dump tells of."""
    dumped = material.records.groups.keys() | material.batches.groups.keys()
    history = material.history
    buckets = sorted({*history.filled_buckets(), *(bucket_of(*place, history.buckets) for place in dumped)})
    return {bucket: history.rows_of(bucket) for bucket in buckets}


def tasks_for(rows: int, *, cores: int, local: bool) -> int:
    """One for few rows, at least one a core for more. Here no more than keep all cores busy; elsewhere nobody knows how many there are."""
    if rows < FEW_ROWS:
        return 1
    return max(cores, min(rows // ROWS_A_TASK, cores * TASKS_A_CORE) if local else rows // ROWS_A_TASK)


def divide(buckets: Mapping[int, int], tasks: int) -> list[Buckets]:
    """Into no more portions, each with about as many rows: the largest bucket first, and each to the portion that has least."""
    portions: list[list[int]] = [[] for _ in range(min(tasks, len(buckets)))]
    filled = [(0, number) for number in range(len(portions))]
    for bucket, rows in sorted(buckets.items(), key=lambda each: (-each[1], each[0])):
        sum_of_rows, number = filled[0]
        portions[number].append(bucket)
        heapreplace(filled, (sum_of_rows + rows, number))
    return [tuple(sorted(portion)) for portion in portions]


def _job(material: Material, context: RunContext, names: Collection[str]) -> Job:
    changes = leader_changes(material.events)
    return Job(material.run, material.history, context, tuple(names), material.records, material.batches, changes)


def _checked(seen: Seen, edges: Sequence[Edges | None], names: Collection[str]) -> Checked:
    """With the last findings: those that only everything together shows."""
    found = list(seen.findings)
    for one, extract in zip(families.joined(names), seen.extracts, strict=True):
        found += [] if extract is None else one.judge(extract)
    if told := [one for one in edges if one is not None]:
        found += cycles.search(cycles.join_edges(told))
    asked = merge(finding for finding in found if finding.name in names)
    return Checked(asked, seen.measures, seen.illegal, seen.problems, seen.states, seen.undecided, seen.unjudged)


def _pass(
    spark: Spark, jobs: Mapping[int, Job], portions: Mapping[int, Sequence[Buckets]], function: Callable[[Job, Buckets], Result]
) -> dict[int, list[Result]]:
    """What the function gives for each portion, by history."""
    large: list[Task] = []
    small: list[Portion] = []
    for number, several in portions.items():
        for buckets in several:
            large.append(((number, buckets),)) if jobs[number].history.rows >= FEW_ROWS else small.append((number, buckets))
    shared = [tuple(small[first :: spark.options.cores]) for first in range(min(spark.options.cores, len(small)))]
    found: dict[int, list[Result]] = {number: [] for number in portions}
    for answers in spark.run([*large, *shared], partial(_run, jobs, function)):
        for number, answer in answers:
            found[number].append(answer)
    return found


def _run(jobs: Mapping[int, Job], function: Callable[[Job, Buckets], Result], task: Task) -> list[tuple[int, Result]]:
    """On an executor. What goes wrong there is named with the history it went wrong in."""
    answers = []
    for number, buckets in task:
        try:
            answers.append((number, function(jobs[number], buckets)))
        except Exception as problem:
            where = f"{jobs[number].run}, buckets {', '.join(map(str, buckets))}"
            raise RuntimeError(f"{type(problem).__name__} in {where}: {problem}") from problem
    return answers
