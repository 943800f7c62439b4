"""A result as CSV: one line for each round as it was measured, loads and latencies apart. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence

from harness.bench.figures import summary as quantities
from harness.bench.figures.latencies import Latencies
from harness.bench.figures.results import LoadRound
from harness.bench.figures.summary import Summary

_LOAD_COLUMNS: dict[str, Callable[[LoadRound], object]] = {
    "round": lambda one: one.round,
    "messages": lambda one: one.messages,
    "bytes": lambda one: one.bytes,
    "seconds": lambda one: one.seconds,
    "replicated_seconds": lambda one: one.replicated_seconds,
    "mb_s": quantities.mb_s,
    "mb_s_seen": quantities.mb_s_seen,
    "behind_messages": lambda one: one.behind,
    "read_mb_s": quantities.read_mb_s,
    "broker_cpu_user_s": lambda one: one.broker_cpu.user,
    "broker_cpu_system_s": lambda one: one.broker_cpu.system,
    "client_cpu_s": lambda one: one.client_cpu,
    "written_bytes": lambda one: one.written,
    "fsyncs": lambda one: one.fsyncs,
    "peak_bytes": lambda one: max(one.peak),
    "segments_a_partition": lambda one: one.segments,
    "waited_share": lambda one: one.waited,
    "busiest_thread": lambda one: one.busiest_thread,
    "client_bound": quantities.is_client_bound,
    "steal": lambda one: one.disturbance.steal,
    "others": lambda one: one.disturbance.others,
    "repeated": lambda one: one.repeated,
}
_PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}


def loads_as_csv(summary: Summary) -> str:
    rows = [
        [summary.systems[one.system], summary.names[one.case], *(column(one) for column in _LOAD_COLUMNS.values())]
        for one in summary.result.loads
    ]
    return _csv(["system", "case", *_LOAD_COLUMNS], rows)


def latencies_as_csv(summary: Summary) -> str:
    rows = []
    for one in summary.result.latencies:
        publish, end_to_end = Latencies(one.publish), Latencies(one.end_to_end)
        figures = [latencies.percentile_ms(percent) for latencies in (publish, end_to_end) for percent in _PERCENTILES.values()]
        who = [summary.systems[one.system], summary.names[one.case], one.round, one.rate, one.share]
        rows.append([*who, publish.samples, *figures, one.unanswered, one.unread, one.disturbance.steal, one.repeated])
    names = [f"{kind}{name}" for kind in ("", "end_to_end_") for name in _PERCENTILES]
    head = ["system", "case", "round", "rate", "share", "samples", *names, "unanswered", "unread", "steal", "repeated"]
    return _csv(head, rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()
