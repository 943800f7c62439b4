"""A result as Markdown: the tables, what must be said beside them, and the machine it is true of. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from harness.bench.figures.summary import Summary
from harness.bench.reports.tables import Table, tables
from harness.bench.suites.case import bytes_in_words


def as_markdown(summary: Summary) -> str:
    return "\n".join(_lines(summary)) + "\n"


def table_lines(table: Table) -> list[str]:
    rows = [table.head, tuple("---" for _ in table.head), *table.rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]


def facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """What a figure is true of."""
    result, machine = summary.result, summary.result.machine
    yield "systems", "; ".join(f"{system.name} {system.version}" for system in result.systems)
    yield "measured", f"{result.began.replace('T', ' ').replace('+00:00', ' UTC')}, {result.seconds / 60:.0f} minutes, seed {result.seed}"
    yield "machine", f"{machine.cores} cores, {machine.memory / 2**30:.0f} GiB, {machine.processor}, Linux {machine.kernel}"
    yield "software", ", ".join(filter(None, (f"Python {machine.python}", machine.java and f"Java {machine.java}")))
    yield "client", f"{result.client} ({machine.librdkafka}), on the same machine"
    first = result.cases[0]
    usual = f"{first.partitions} partitions, {first.replicas} replicas, min ISR {first.min_insync}"
    records = f"records of {bytes_in_words(first.record_bytes)} of JSON log lines"
    yield "load", f"{result.nodes} brokers, {usual}, {records}; where a case does not say otherwise"
    yield "rounds", f"{max((one.round for one in result.loads), default=0)}, in random order, systems taking turns"


def _lines(summary: Summary) -> Iterator[str]:
    yield f"# Benchmark {summary.result.suite}: {', '.join(summary.systems)}"
    yield ""
    yield summary.result.description
    for remark in summary.remarks():
        yield f"\n> {remark}"
    for table in tables(summary):
        if table.rows:
            yield from ("", f"## {table.title}", "", *table_lines(table), "", table.about)
    yield from ("", "## What it is true of", "")
    for name, text in facts(summary):
        yield f"- {name}: {text}"
