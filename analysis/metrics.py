"""How fast, how late, how far behind: measured in every task on its own rows, merged, and never larger for a longer history.

Latency counts from when the load plan wanted an operation to start, where it says so: a client that waits for a slow broker would else
leave out the very operations that waited. The lag of readers is the time from a send to the first poll of its value outside the final
reads; with many polls it is taken on a share of the values, chosen by the value itself, so that both ends of a pair are in it.

Hot path: numpy over whole columns, guarded by `./highwater bench analysis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.columns import OF_A_CALL, Numbers, Rows
from analysis.histogram import NO_SIZE, Cells, Reals, buckets_of, percentile
from analysis.partition import MISSING, Names, by_place
from analysis.runs import Runs
from analysis.service import Effect, Gap, effects, gaps_of, longest
from analysis.sorting import changes
from harness.history.beside import Fault
from harness.history.schema import FIXED_WORDS, Function, Outcome, Phase

COLUMNS = (*OF_A_CALL, "error", "topic", "part", "value")
"""What `measure` needs of the rows."""

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
SAMPLES_FOR_P999 = 100_000
MOST_LAGS = 1 << 15
"""Rows of one table above which the lag is taken on a share of the values, so that about as many are left."""

LAG = 15
"""Stands in the place of a function for the lag of readers."""

Cause = tuple[str, str, str]
"""Function, outcome and error name, as words."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Of a part of a history; `merge` gives those of both parts. `operations` are kinds. A partition's gaps are right where all of
    its rows were in one part."""

    cells: Cells = field(default_factory=Cells.none)
    causes: Mapping[Cause, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    operations: frozenset[str] = frozenset()

    def merge(self, other: Measures) -> Measures:
        causes = Counter(self.causes)
        causes.update(other.causes)
        return Measures(self.cells.merge(other.cells), dict(causes), longest((*self.gaps, *other.gaps)), self.operations | other.operations)

    def under_load(self) -> Measures:
        """Without the final reads, which nobody waits for."""
        cells = self.cells
        mask = (cells.series >> 6) != Phase.FINAL
        return replace(self, cells=Cells(cells.width, cells.keys[mask], cells.counts[mask]))

    def count(self, function: int, outcome: int = Outcome.OK, phase: int | None = None) -> int:
        return self._series(function, outcome, phase).total

    def rates(self, function: int, outcome: int = Outcome.OK) -> tuple[Reals, Reals]:
        """Times in seconds, every bin from the history's first to its last, and a second's worth in each."""
        seconds, places = self._axis()
        cells = self._series(function, outcome)
        found = np.bincount(cells.bins - places, cells.counts, len(seconds)) if len(seconds) else np.empty(0)
        return seconds, found / (self.cells.width / 1e9)

    def percentiles(self, function: int, outcome: int = Outcome.OK, phase: int | None = None) -> dict[str, float]:
        """In ns, by name; p99.9 only where there are samples enough for it, and nothing where there is none."""
        cells = self._series(function, outcome, phase)
        return _percentiles(cells.buckets, cells.counts)

    def percentiles_over_time(self, function: int, outcome: int = Outcome.OK) -> tuple[Reals, dict[str, Reals]]:
        """Times in seconds, and in ns each percentile in each bin; NaN where a bin has nothing, or too little for that percentile."""
        seconds, first = self._axis()
        cells = self._series(function, outcome)
        found = {name: np.full(len(seconds), np.nan) for name in PERCENTILES}
        bins = cells.bins
        order = np.argsort(bins, kind="stable")
        edges = np.flatnonzero(np.diff(bins[order])) + 1
        for part in np.split(order, edges) if len(order) else ():
            for name, size in _percentiles(cells.buckets[part], cells.counts[part]).items():
                found[name][bins[part[0]] - first] = size
        return seconds, found

    @property
    def seconds(self) -> float:
        """From the first bin's beginning to the last one's end."""
        first, last = self.cells.bounds
        return (last - first + self.cells.width) / 1e9 if self.cells.total else 0.0

    def _series(self, function: int, outcome: int, phase: int | None = None) -> Cells:
        phases = list(Phase) if phase is None else [phase]
        parts = [self.cells.only(_series(one, function, outcome)) for one in phases]
        keys, counts = np.concatenate([part.keys for part in parts]), np.concatenate([part.counts for part in parts])
        return Cells(self.cells.width, keys, counts)

    def _axis(self) -> tuple[Reals, int]:
        if not self.cells.total:
            return np.empty(0), 0
        first, last = (bound // self.cells.width for bound in self.cells.bounds)
        seconds: Reals = np.arange(first, last + 1, dtype=np.float64) * (self.cells.width / 1e9)
        return seconds, first


def measure(columns: Rows) -> Measures:
    """Of some rows of a history, best all of a bucket."""
    calls = columns.calls
    ended = calls["completed"] != MISSING
    times = np.where(ended, calls["completed"], calls["invoked"])
    buckets = np.where(ended, buckets_of(calls["completed"] - _began(calls)), NO_SIZE)
    cells = Cells.count(_series(*(calls[name].astype(np.int16) for name in ("phase", "f", "outcome"))), times, buckets, calls.lengths)
    kinds = FIXED_WORDS["kind"]
    return Measures(
        cells.merge(_lags(columns)),
        _causes(columns),
        longest(_gaps(columns)),
        frozenset(kinds[kind] for kind in np.flatnonzero(np.bincount(calls["kind"])) if kind < len(kinds)),
    )


def merge_all(parts: Iterable[Measures]) -> Measures:
    found = Measures()
    for part in parts:
        found = found.merge(part)
    return found


def summary(measures: Measures, acks: str, faults: Sequence[Fault] = ()) -> dict[str, Any]:
    """For verdict.json: plain data, times in seconds. Of the phase under load, where there is one."""
    phase = Phase.RUN if any(measures.count(Function.SEND, outcome, Phase.RUN) for outcome in Outcome) else None
    sent = {outcome.name.lower(): measures.count(Function.SEND, outcome, phase) for outcome in Outcome}
    seconds = _seconds_of(measures, phase)
    return {
        "acks": acks,
        "seconds": round(seconds, 3),
        "sends": sent,
        "polled": measures.count(Function.POLL, Outcome.OK),
        "acknowledged_per_second": round(sent["ok"] / seconds, 1) if seconds else 0.0,
        "latency": {outcome.name.lower(): _in_seconds(measures.percentiles(Function.SEND, outcome, phase)) for outcome in Outcome},
        "lag": _in_seconds(measures.percentiles(LAG)),
        "longest_gaps": [_gap_data(gap) for gap in measures.gaps[:10]],
        "causes": [{"f": f, "outcome": outcome, "error": error, "count": count} for (f, outcome, error), count in _by_count(measures)],
        "faults": [_effect_data(effect) for effect in effects(faults, measures.gaps)],
    }


def _series(phase: Any, function: Any, outcome: Any) -> Any:
    return (phase << 6) | (function << 2) | outcome


def _percentiles(buckets: Numbers, counts: Numbers) -> dict[str, float]:
    samples = int(counts[buckets != NO_SIZE].sum())
    wanted = {name: share for name, share in PERCENTILES.items() if name != "p99.9" or samples >= SAMPLES_FOR_P999}
    found = {name: percentile(buckets, counts, share) for name, share in wanted.items()}
    return {name: size for name, size in found.items() if size is not None}


def _began(of: Mapping[str, Numbers]) -> Numbers:
    """When the load plan wanted it to, where it says so."""
    return np.where(of["intended"] != MISSING, of["intended"], of["invoked"])


def _lags(columns: Rows) -> Cells:
    """Of every value that was polled, the first time."""
    which = _share_of(columns["value"])
    some = {name: columns[name][which] for name in ("value", "topic", "part", "f", "outcome", "phase", "intended", "invoked", "completed")}
    known = (some["value"] != MISSING) & (some["topic"] != MISSING)
    polls = known & (some["f"] == Function.POLL) & (some["outcome"] == Outcome.OK) & (some["phase"] != Phase.FINAL)
    polls &= some["completed"] != MISSING
    chosen = np.flatnonzero(polls | (known & (some["f"] == Function.SEND)))
    which, is_poll = which[chosen], polls[chosen].astype(np.int64)
    when = np.where(is_poll, some["completed"][chosen], _began(some)[chosen])
    topic, part, value = (some[name][chosen] for name in ("topic", "part", "value"))
    order = np.lexsort((when, is_poll, value, part, topic))
    same = (np.diff(value[order]) == 0) & (np.diff(part[order]) == 0) & (np.diff(topic[order]) == 0)
    first_poll = np.flatnonzero(same & (np.diff(is_poll[order]) == 1)) + 1
    polled, sent = when[order[first_poll]], when[order[first_poll - 1]]
    phases = columns["phase"][which[order[first_poll]]].astype(np.int64)
    return Cells.count(_series(phases, np.int64(LAG), np.int64(Outcome.OK)), polled, buckets_of(polled - sent))


def _share_of(value: Numbers) -> Numbers:
    """Rows of all values, or of a share of them that the values themselves choose. Their last bits are enough to choose by."""
    bits = min((len(value) // MOST_LAGS).bit_length(), 16)
    last = value.astype(np.uint16)
    return np.flatnonzero((last ^ (last >> 7)) & ((1 << bits) - 1) == 0) if bits else np.arange(len(value))


def _causes(columns: Rows) -> dict[Cause, int]:
    failed = columns["outcome"] != Outcome.OK
    error, outcome, function = (columns[name][failed].astype(np.int64) for name in ("error", "outcome", "f"))
    keys, counts = np.unique(((np.where(error == MISSING, -1, error) + 1) << 6) | (function << 2) | outcome, return_counts=True)
    return {_cause(int(key), columns.names): int(count) for key, count in zip(keys, counts, strict=True)}


def _cause(key: int, names: Names) -> Cause:
    error, function, outcome = (key >> 6) - 1, (key >> 2) & 15, key & 3
    words = FIXED_WORDS["f"]
    return (
        words[function] if function < len(words) else "other",
        FIXED_WORDS["outcome"][outcome],
        names["error"][error] if error >= 0 else "",
    )


def _gaps(columns: Rows) -> Iterator[Gap]:
    """Of each partition. Its sends come in runs, of which there are fewer than rows to sort."""
    sends = np.flatnonzero((columns["f"] == Function.SEND) & (columns["topic"] != MISSING) & (columns["part"] != MISSING))
    if not len(sends):
        return
    topic, part = columns["topic"][sends], columns["part"][sends]
    edges = np.flatnonzero(changes(topic, part)) + 1
    runs = Runs(np.concatenate(([0], edges)), np.append(edges, len(sends)))
    for some in by_place(topic[runs.starts], part[runs.starts]):
        here = sends[runs.only(some).rows]
        invoked, completed = columns["invoked"][here], columns["completed"][here]
        acknowledged = completed[(columns["outcome"][here] == Outcome.OK) & (completed != MISSING)]
        name = columns.names["topic"][columns["topic"][here[0]]]
        yield from gaps_of(name, int(columns["part"][here[0]]), invoked, np.maximum(completed, invoked), acknowledged)


def _seconds_of(measures: Measures, phase: int | None) -> float:
    if phase is None:
        return measures.seconds
    cells = measures.cells
    bins = cells.bins[(cells.series >> 6) == phase]
    return float((bins.max() - bins.min() + 1) * cells.width / 1e9) if len(bins) else 0.0


def _by_count(measures: Measures) -> list[tuple[Cause, int]]:
    return sorted(measures.causes.items(), key=lambda cause: (-cause[1], cause[0]))


def _in_seconds(sizes: Mapping[str, float]) -> dict[str, float]:
    return {name: round(size / 1e9, 9) for name, size in sizes.items()}


def _gap_data(gap: Gap) -> dict[str, Any]:
    return {"topic": gap.topic, "part": gap.part, "start": gap.start / 1e9, "seconds": gap.length / 1e9, "given_up": gap.given_up}


def _effect_data(effect: Effect) -> dict[str, Any]:
    recovery = None if effect.recovery is None else effect.recovery / 1e9
    about = {"id": effect.fault, "unavailable": effect.unavailable / 1e9, "recovery": recovery, "partitions": effect.partitions}
    return about | {"given_up": effect.given_up, "meanwhile": list(effect.meanwhile)}
