"""A result with the field names of the OpenMessaging Benchmark, one object a case and system, for tools that read its results. Pure.

Rates in messages a second, latencies in milliseconds; lists have an entry a round. Percentiles that too few samples stand behind are null.
What the other benchmark does not know (rates until replicas are equal, CPU, memory, steal) is in `highwater`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from harness.bench.figures import summary as quantities
from harness.bench.figures.latencies import Latencies
from harness.bench.figures.summary import AtRate, Cell, Summary

_PERCENTILES = {"50pct": 50.0, "75pct": 75.0, "95pct": 95.0, "99pct": 99.0, "999pct": 99.9, "9999pct": 99.99}


def omb_results(summary: Summary) -> Iterator[dict[str, Any]]:
    for row in summary.cells:
        for cell in row:
            if cell.loads or cell.at_rates:
                yield _test_result(summary, cell)


def _test_result(summary: Summary, cell: Cell) -> dict[str, Any]:
    case, at = cell.case, cell.usual_latency
    rounds = [one for one in summary.result.latencies if at and (one.case, one.system, one.rate) == (cell.number, cell.system, at.rate)]
    return {
        "workload": summary.names[cell.number],
        "driver": summary.systems[cell.system],
        "messageSize": case.record_bytes,
        "topics": 1,
        "partitions": case.partitions,
        "producersPerTopic": case.producers,
        "consumersPerTopic": case.consumers,
        "publishRate": [quantities.messages_s_seen(one) for one in cell.loads],
        "publishErrorRate": [one.unanswered / one.seconds for one in rounds],
        "consumeRate": [one.reading.messages / one.reading.seconds for one in cell.loads],
        "backlog": [one.unread for one in rounds],
        **_per_round("publishLatency", [Latencies(one.publish) for one in rounds]),
        **_per_round("endToEndLatency", [Latencies(one.end_to_end) for one in rounds]),
        **(_merged("aggregatedPublishLatency", at.publish) if at else {}),
        **(_merged("aggregatedEndToEndLatency", at.end_to_end) if at else {}),
        "highwater": _own(summary, cell, at),
    }


def _per_round(prefix: str, rounds: list[Latencies]) -> dict[str, Any]:
    percentiles = {f"{prefix}{name}": [one.percentile_ms(percent) for one in rounds] for name, percent in _PERCENTILES.items()}
    return {f"{prefix}Avg": [one.mean_ms for one in rounds], **percentiles, f"{prefix}Max": [one.most_ms for one in rounds]}


def _merged(prefix: str, latencies: Latencies) -> dict[str, Any]:
    percentiles = {f"{prefix}{name}": latencies.percentile_ms(percent) for name, percent in _PERCENTILES.items()}
    quantiles = {f"{percent:g}": value for percent, value in latencies.curve()}
    return {f"{prefix}Avg": latencies.mean_ms, **percentiles, f"{prefix}Max": latencies.most_ms, f"{prefix}Quantiles": quantiles}


def _own(summary: Summary, cell: Cell, at: AtRate | None) -> dict[str, Any]:
    return {
        "version": summary.result.systems[cell.system].version,
        "case": asdict(cell.case),
        "latencyAtRate": at.rate if at else None,
        "replicatedRate": [quantities.messages_s(one) for one in cell.loads],
        "sustainedRate": cell.sustained,
        "brokerCpuSecondsPerGB": [quantities.broker_cpu_gb(one) for one in cell.loads],
        "clientCpuSecondsPerGB": [quantities.client_cpu_gb(one) for one in cell.loads],
        "peakResidentMB": [quantities.peak_mb(one) for one in cell.loads],
        "steal": [one.disturbance.steal for one in cell.loads],
        "clientBound": cell.client_bound,
    }
