"""All passes of the checks over a run's folder, one bucket after the other, without Spark: what a driver does, in its plainest form."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from analysis import committed, cycles, families
from analysis.context import Rules, RunContext, finals_of
from analysis.dumps import dumps_of
from analysis.findings import Finding, merge
from analysis.log import Log
from analysis.partition import empty_partition, partitions_of
from analysis.settled import settle
from analysis.suspension import progress_of
from harness.history.beside import Batch, Event, Fault, Final, Operation, Record, read_rows, read_table
from harness.history.plan import read_plan
from harness.history.readers import open_history
from harness.history.schema import NO_PARTITION, Outcome


def check(run: Path, rules: Rules = "highwater", names: Collection[str] = families.ALL) -> dict[str, Finding]:
    plan = read_plan(run)
    progress = progress_of(settle(plan.promises), plan, read_rows(run, Fault), read_rows(run, Event))
    known = RunContext(rules, None, finals=finals_of(read_rows(run, Final)), progress=progress)
    if any(operation.outcome == Outcome.INFO for operation in read_rows(run, Operation)):
        known = RunContext(rules, None, committed.join([committed.extract(log) for log in _logs(run, known)]), known.finals, progress)
    logs = list(_logs(run, known))
    found = [finding for log in logs for finding in families.find_in(log, names)]
    for family in families.joined(names):
        extracts = [extract for log in logs if (extract := family.extract(log)) is not None]
        found += family.judge(family.join(extracts)) if extracts else []
    if families.has_cycles(names) and (spans := [span for log in logs if (span := cycles.spans(log)) is not None]):
        within = cycles.join_spans(spans)
        edges = [edge for log in logs if (edge := cycles.edges(log, within)) is not None]
        found += cycles.search(cycles.join_edges(edges)) if edges else []
    return merge(finding for finding in found if finding.name in names)


def _logs(run: Path, known: RunContext) -> Iterator[Log]:
    history = open_history(run)
    dumps = dumps_of(read_table(run, Record), read_table(run, Batch))
    for bucket in history.filled_buckets():
        if bucket != NO_PARTITION:
            for partition in partitions_of(history.read(bucket), history.names):
                yield Log(partition, known.of(partition.topic, partition.part, dumps.pop((partition.topic, partition.part), None)))
    for (topic, part), dumped in dumps.items():
        yield Log(empty_partition(topic, part), known.of(topic, part, dumped))
