"""The tables of a report as words: a head and rows, which Markdown and the page both show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.bench.figures import summary as quantities
from harness.bench.figures.latencies import Latencies
from harness.bench.figures.summary import Cell, Spread, Summary

NONE = "–"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    about: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(summary: Summary) -> list[Table]:
    found = [acks_table(summary), *ratio_tables(summary)]
    if len(summary.headline) < len(summary.cells):
        found.append(all_cases(summary))
    return [*found, costs(summary), at_rates(summary), starts(summary), warm_ups(summary)]


def acks_table(summary: Summary) -> Table:
    """What each promise costs, first of all."""
    about = "Medians of the rounds and their range. Throughput until all replicas were equal; below acks=all also what the client saw."
    return _priced_table("What each acks setting costs", about, summary, summary.headline)


def all_cases(summary: Summary) -> Table:
    return _priced_table("All cases", "As above.", summary, range(len(summary.cells)))


def costs(summary: Summary) -> Table:
    head = (
        "read MB/s",
        "behind MB",
        "sustained messages/s",
        "broker user CPU s/GB",
        "written bytes a byte",
        "fsyncs",
        "peak MB",
    )
    return Table(
        "What else was seen",
        "Behind: what was not on every replica at the last acknowledgement. Sustained: the highest rate found at which no backlog grows. "
        "Written: by all brokers to their disks, for each byte that clients wrote.",
        (*_who(summary), *head),
        tuple(_other(summary, cell) for cell in _cells(summary, range(len(summary.cells))) if cell.loads),
    )


def at_rates(summary: Summary) -> Table:
    head = ("messages/s", "samples", "p50", "p99", "p99.9", "max", "end to end p50", "p99", "p99.9", "unanswered")
    return Table(
        "Latency at fixed rates, ms",
        "From when a message was due, whether or not it could be sent then; all rounds in one histogram; p99.9 from 100,000 samples.",
        (*_who(summary), *head),
        tuple(row for cell in _cells(summary, range(len(summary.cells))) for row in _latency_rows(summary, cell)),
    )


def starts(summary: Summary) -> Table:
    rows = []
    for number, system in enumerate(summary.systems):
        found = [one for one in summary.result.starts if one.system == number]
        if found:
            seconds, cpu = Spread.of([one.seconds for one in found]), Spread.of([one.cpu for one in found])
            memory = Spread.of([max(one.resident) / 1e6 for one in found])
            rows.append((system, shown(seconds), shown(cpu), shown(memory), str(len(found))))
    head = ("system", "start s", "CPU s", "resident MB a broker", "starts")
    about = f"A cluster of {summary.result.nodes} on empty folders, alone on the machine, until every broker knows all of them."
    return Table("Start and memory", about, head, tuple(rows))


def warm_ups(summary: Summary) -> Table:
    rows = []
    for one in summary.result.warm_ups:
        how = "until its rate no longer climbed" if one.warm else "cut short, before its rate had levelled off"
        lifetime = next((each for each in summary.result.lifetimes if each.system == one.system), None)
        cpu = f"{lifetime.cpu.user + lifetime.cpu.system:.1f} s for {lifetime.bytes / 1e9:.2f} GB" if lifetime else NONE
        rows.append((summary.systems[one.system], f"{one.seconds:.0f} s, {len(one.loads)} loads", how, cpu))
    about = "CPU of the brokers from the start of the cluster to its end, warm-up and idle time included."
    return Table("Warm-up, and CPU in all", about, ("system", "warm-up", "how it ended", "CPU since the start"), tuple(rows))


def ratio_tables(summary: Summary) -> Iterator[Table]:
    for other in range(1, len(summary.systems)):
        rows = []
        for case, name in enumerate(summary.names):
            for what, ratio, more_is_better in summary.ratios(case, other):
                words = ratio.in_words(summary.systems[0], summary.systems[other])
                rows.append((name, what, words, "more is better" if more_is_better else "less is better"))
        yield Table(
            f"{summary.systems[0]} over {summary.systems[other]}",
            "Geometric mean of the ratios of neighbouring rounds, with its 95 % bootstrap interval.",
            ("case", "of", "ratio", ""),
            tuple(rows),
        )


def number(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def shown(spread: Spread | None) -> str:
    if spread is None:
        return NONE
    same = number(spread.low) == number(spread.high)
    return number(spread.median) if same else f"{number(spread.median)} ({number(spread.low)}–{number(spread.high)})"


def _priced_table(title: str, about: str, summary: Summary, cases: Sequence[int]) -> Table:
    lost = ("lost under a leader kill",) if summary.result.losses else ()
    figures = ("MB/s", "messages/s", "client saw MB/s", "p50 ms", "p99 ms", "p99.9 ms", "broker CPU s/GB", "client CPU s/GB", *lost)
    rows = [(*_priced(summary, cell), *(_lost(cell) for _ in lost)) for cell in _cells(summary, cases)]
    return Table(title, about, (*_who(summary), *figures), tuple(rows))


def _lost(cell: Cell) -> str:
    lost = cell.lost_under_kills
    return f"{sum(lost):,} in {len(lost)} kills ({min(lost):,}–{max(lost):,} a kill)" if lost else NONE


def _who(summary: Summary) -> tuple[str, ...]:
    return ("case", "system") if len(summary.systems) > 1 else ("case",)


def _names(summary: Summary, cell: Cell) -> tuple[str, ...]:
    name = summary.names[cell.number]
    return (name, summary.systems[cell.system]) if len(summary.systems) > 1 else (name,)


def _cells(summary: Summary, cases: Sequence[int]) -> Iterator[Cell]:
    for case in cases:
        yield from summary.cells[case]


def _priced(summary: Summary, cell: Cell) -> tuple[str, ...]:
    latency = cell.usual_latency
    bound = " client-bound" if cell.client_bound else ""
    seen = cell.spread(quantities.mb_s_seen) if cell.case.acks != "all" else None
    return (
        *_names(summary, cell),
        shown(cell.spread(quantities.mb_s)) + bound,
        number(spread.median) if (spread := cell.spread(quantities.messages_s)) else NONE,
        shown(seen),
        *(number(latency.publish.percentile_ms(percent)) if latency else NONE for percent in (50.0, 99.0, 99.9)),
        shown(cell.spread(quantities.broker_cpu_gb)),
        number(spread.median) if (spread := cell.spread(quantities.client_cpu_gb)) else NONE,
    )


def _other(summary: Summary, cell: Cell) -> tuple[str, ...]:
    fsyncs = [one.fsyncs for one in cell.loads if one.fsyncs is not None]
    reading = " client-bound" if sum(map(quantities.is_reading_client_bound, cell.loads)) * 2 > len(cell.loads) else ""
    sustained = number(cell.sustained) if cell.sustained is not None else "none found" if cell.searched else NONE
    return (
        *_names(summary, cell),
        shown(cell.spread(quantities.read_mb_s)) + reading,
        shown(cell.spread(quantities.behind_mb)),
        sustained,
        shown(cell.spread(quantities.broker_user_cpu_gb)),
        shown(cell.spread(quantities.written_per_byte)),
        shown(Spread.of(fsyncs)),
        shown(cell.spread(quantities.peak_mb)),
    )


def _latency_rows(summary: Summary, cell: Cell) -> Iterator[tuple[str, ...]]:
    def percentiles(latencies: Latencies) -> list[str]:
        return [number(latencies.percentile_ms(percent)) for percent in (50.0, 99.0, 99.9)]

    for at in cell.at_rates:
        share = f" ({at.share:.0%} of the slowest)" if at.share is not None else ""
        samples = max(at.publish.samples, at.end_to_end.samples)
        publish = [*percentiles(at.publish), number(at.publish.most_ms)]
        yield (
            *_names(summary, cell),
            f"{at.rate:,.0f}{share}",
            f"{samples:,}",
            *publish,
            *percentiles(at.end_to_end),
            f"{at.unanswered:,}",
        )
