"""What Locust left, as plain data: requests by kind, the run second by second, and what clients were told.

Three files: its JSON (counts of every second and of every latency, complete), its CSV of the run's course (users, percentiles), and the
errors that the locustfile writes. Locust rounds latencies, to a millisecond below 100 ms and to two digits above: so are percentiles.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.bench.shaped_load.plan import PREFIX
from harness.errors import EnvironmentFault

_UNKNOWN = ("N/A", "0")
"""How Locust says that it has no percentile of this second yet."""

RARE_FROM = 100_000
"""Samples below which nobody can tell the p99.9."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Of one kind. `count` includes the failures; latencies in ms; `p999` is NaN where samples are too few."""

    kind: str
    count: int
    failures: int
    bytes: int
    p50: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True, slots=True)
class Second:
    """`p99_ms`: of produce requests over the ten seconds before, as Locust keeps it; NaN where it has none."""

    second: int
    users: int
    produced: int
    consumed: int
    failed: int
    p99_ms: float


@dataclass(frozen=True, slots=True)
class ClientError:
    kind: str
    error: str
    times: int


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """`appended`: messages that the brokers' own metrics count; nothing where the brokers are not ours."""

    folder: Path
    requests: tuple[Requests, ...]
    seconds: tuple[Second, ...]
    errors: tuple[ClientError, ...]
    appended: int | None = None
    interrupted: bool = False

    def of(self, kind: str) -> Requests:
        return next((one for one in self.requests if one.kind == kind), _NOTHING[kind])

    @property
    def acknowledged(self) -> int:
        return self.of("produce").count - self.of("produce").failures

    @property
    def failures(self) -> int:
        return sum(one.failures for one in self.requests)


def read_outcome(folder: Path) -> LoadOutcome:
    try:
        entries = json.loads((folder / f"{PREFIX}.json").read_bytes())
        with open(folder / f"{PREFIX}_stats_history.csv", newline="") as file:
            history = list(csv.DictReader(file))
        errors = json.loads((folder / f"{PREFIX}_errors.json").read_bytes())
    except (OSError, ValueError) as problem:
        raise EnvironmentFault(f"locust left no results ({problem}); see {folder / 'locust.log'}") from None
    return LoadOutcome(
        folder,
        tuple(_requests(entry) for entry in sorted(entries, key=lambda entry: str(entry["method"]), reverse=True)),
        tuple(_seconds({entry["method"]: entry for entry in entries}, history)),
        tuple(ClientError(error["request"], error["error"], error["times"]) for error in errors),
    )


def percentile(histogram: Mapping[float, int], percent: float) -> float:
    """Nearest rank, over values and how often each came."""
    total = sum(histogram.values())
    if not total:
        return math.nan
    rank, seen = max(math.ceil(percent / 100 * total), 1), 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= rank:
            return value
    raise AssertionError("a rank is at most the number of samples")


def _requests(entry: Mapping[str, Any]) -> Requests:
    histogram = {float(value): times for value, times in entry["response_times"].items()}
    rare = percentile(histogram, 99.9) if sum(histogram.values()) >= RARE_FROM else math.nan
    return Requests(
        entry["method"],
        entry["num_requests"],
        entry["num_failures"],
        entry["total_content_length"],
        percentile(histogram, 50),
        percentile(histogram, 99),
        rare,
        float(entry["max_response_time"]),
    )


def _seconds(entries: Mapping[str, Mapping[str, Any]], history: list[dict[str, str]]) -> list[Second]:
    done = {kind: _counts(entry, "num_reqs_per_sec") for kind, entry in entries.items()}
    failed = [_counts(entry, "num_fail_per_sec") for entry in entries.values()]
    users = {int(row["Timestamp"]): int(row["User Count"]) for row in history}
    tails = {int(row["Timestamp"]): float(row["99%"]) for row in history if row["Type"] == "produce" and row["99%"] not in _UNKNOWN}
    moments = [*users, *(moment for counts in (*done.values(), *failed) for moment in counts)]
    found, last = [], 0
    for moment in range(min(moments), max(moments) + 1) if moments else ():
        last = users.get(moment, last)
        produced, consumed = (done.get(kind, {}).get(moment, 0) for kind in ("produce", "consume"))
        wrong = sum(counts.get(moment, 0) for counts in failed)
        found.append(Second(moment - min(moments), last, produced, consumed, wrong, tails.get(moment, math.nan)))
    return found


def _counts(entry: Mapping[str, Any], name: str) -> dict[int, int]:
    return {int(moment): times for moment, times in entry[name].items()}


_NOTHING = {kind: Requests(kind, 0, 0, 0, math.nan, math.nan, math.nan, math.nan) for kind in ("produce", "consume")}
