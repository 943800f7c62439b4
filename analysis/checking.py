"""From histories to everything that was found in them: the passes over their buckets, run by Spark.

A bucket holds all rows of its partitions, so one look at each is enough for nearly everything and no row is ever moved. Only for what
crosses partitions there is a pass before (which unfinished transactions count) and one behind (circles), and only where there is something
to look for. Many histories go through each pass together. What is small shares a task: starting one costs more than checking a bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
from analysis.tasks import FEW_ROWS, divide, room_in, tasks_for
from harness.history.buckets import bucket_of

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
    jobs = {number: replace(_job(material, context, names), alone=alone) for number, (material, context) in enumerate(asked)}
    buckets = {number: buckets_of(material) for number, (material, _) in enumerate(asked)}

    unfinished = {number: buckets[number] for number, (material, _) in enumerate(asked) if material.unfinished}
    for number, shown in _pass(spark, jobs, unfinished, committed_in).items():
        jobs[number] = replace(jobs[number], context=replace(jobs[number].context, committed=committed.join(shown)))

    joined = families.joined(names)
    seen = {number: together(parts, joined) for number, parts in _pass(spark, jobs, buckets, check_buckets).items()}
    jobs |= {number: replace(jobs[number], spans=one.spans) for number, one in seen.items()}
    circling = {number: buckets[number] for number, one in seen.items() if one.spans is not None and len(one.spans)}
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
    unjudged = (*seen.unjudged, *_unsearched(seen, names))
    return Checked(asked, seen.measures, seen.illegal, seen.problems, seen.states, seen.undecided, unjudged)


def _unsearched(seen: Seen, names: Collection[str]) -> Iterator[str]:
    """A large partition has no circle of its own; where there may be one elsewhere, it may lead through it."""
    if seen.spans is not None and len(seen.spans) and seen.spans.unsearched:
        circles = ", ".join(name for name in cycles.NAMES if name in names)
        large = f"{seen.spans.unsearched} partitions too large for the memory given"
        yield f"Operations that depend on each other were not looked for through {large}, so of these some may be missing: {circles}."


def _pass(
    spark: Spark, jobs: Mapping[int, Job], buckets: Mapping[int, Mapping[int, int]], function: Callable[[Job, Buckets], Result]
) -> dict[int, list[Result]]:
    """What the function gives for portions of the buckets, by history."""
    room = room_in(spark.options)
    tasks = _tasks({number: {one: rows for one, rows in each.items() if rows <= room.shared} for number, each in buckets.items()}, spark)
    answers = spark.run(tasks, partial(_run, _told(jobs, room.shared), function))
    for number, bucket in ((number, one) for number, each in buckets.items() for one, rows in each.items() if rows > room.shared):
        answers += spark.run([((number, (bucket,)),)], partial(_run, _told(jobs, room.alone), function))
    found: dict[int, list[Result]] = {number: [] for number in buckets}
    for number, answer in (each for several in answers for each in several):
        found[number].append(answer)
    return found


def _told(jobs: Mapping[int, Job], most_rows: int) -> dict[int, Job]:
    return {number: replace(job, most_rows=most_rows) for number, job in jobs.items()}


def _tasks(buckets: Mapping[int, Mapping[int, int]], spark: Spark) -> list[Task]:
    """A history with many rows is divided, those with few share."""
    cores, local = spark.options.cores, spark.options.is_local
    large: list[Task] = []
    small: list[Portion] = []
    for number, each in buckets.items():
        rows = sum(each.values())
        portions = divide(each, tasks_for(rows, cores=cores, local=local))
        small += [(number, portion) for portion in portions if rows < FEW_ROWS]
        large += [((number, portion),) for portion in portions if rows >= FEW_ROWS]
    return [*large, *(tuple(small[first::cores]) for first in range(min(cores, len(small))))]


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
