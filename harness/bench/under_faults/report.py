"""Under faults, for people and for programs: a row for each acks setting and kind of fault, as Markdown, on a terminal, as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from harness.bench.report import number
from harness.bench.under_faults.figures import Latency, Spread
from harness.bench.under_faults.measuring import AcksUnderFaults, UnderFaults
from harness.bench.under_faults.plan import KILL, WORDS
from harness.bench.verified import Verified

_DIP = ("dip", "silent s", "back after s", "dip after heal", "back after heal s")
HEAD = ("acks", "fault", "strikes", *_DIP, "p50 ms", "p99 ms", "max ms", "lost a strike", "lost")
ANSWERS = {True: "kept its promises", False: "BROKE A PROMISE", None: "cannot tell"}
TOO_WIDE = 0.2
_NONE = "-"


def write_report(folder: Path, found: UnderFaults, verified: Sequence[Verified] = ()) -> None:
    (folder / "report.json").write_text(as_json(found, verified))
    (folder / "report.md").write_text(as_markdown(found, verified))


def as_json(found: UnderFaults, verified: Sequence[Verified] = ()) -> str:
    costs = [asdict(one) | {"cost": one.cost} for one in verified]
    return json.dumps(asdict(found) | {"verified": costs}, indent=2, allow_nan=False) + "\n"


def as_markdown(found: UnderFaults, verified: Sequence[Verified] = ()) -> str:
    lines = ["# Under faults", "", about(found), "", "| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows(found)]
    lines += ["", *(f"- {remark}" for remark in remarks(found, verified))]
    return "\n".join(lines) + "\n"


def about(found: UnderFaults) -> str:
    load = found.load
    return (
        f"{load.system}, 3 nodes, one partition, 3 replicas, min ISR 2; {load.rate:,.0f} messages of {load.record_bytes:,} bytes a second, "
        f"latency from when each was due; brokers are taken for dead after {found.session_s:g} s. Medians, with the range over all strikes."
    )


def rows(found: UnderFaults) -> list[list[str]]:
    return [row for one in found.acks for row in _rows(one)]


def remarks(found: UnderFaults, verified: Sequence[Verified] = ()) -> Iterator[str]:
    yield (
        "dip: share of the rate before that was missing in the worst half second; back: the next second has 90 % of it again; "
        "a dip that is not over when the fault ends goes on after the heal"
    )
    for one in found.acks:
        if (kills := one.of(KILL)) is not None:
            lost = f"{sum(kills.lost):,} acknowledged messages lost in {kills.strikes} leader kills"
            yield f"acks={one.acks}: {lost}, {_lost(kills.lost)} a kill"
        if one.checked is not None:
            yield f"acks={one.acks}, checked on Spark: {ANSWERS[one.checked.valid]}. {' '.join(one.checked.why)}"
        for doubt in one.doubts:
            yield f"acks={one.acks}, in doubt: {doubt}"
    for check in verified:
        yield verified_in_words(check)


def verified_in_words(one: Verified) -> str:
    costs = [1 - ratio for ratio in one.ratios]
    told = f"recording took {one.cost:.0%} of the rate ({min(costs):.0%} to {max(costs):.0%} over {len(costs)} pairs)"
    if max(costs) - min(costs) > TOO_WIDE:
        told += ", too wide a range to say what it costs: a quieter machine is needed"
    return (
        f"acks={one.acks}, recorded at full speed: {ANSWERS[one.checked.valid]}, {one.acknowledged:,} acknowledged, {one.lost:,} lost; "
        f"{told}"
    )


def _rows(one: AcksUnderFaults) -> Iterator[list[str]]:
    yield [one.acks, "none", _NONE, *(_NONE for _ in _DIP), *_latency(one.calm), _NONE, _NONE]
    for figures in one.kinds:
        yield [
            one.acks,
            WORDS.get(figures.kind, figures.kind),
            str(figures.strikes),
            _spread(figures.depth, percent=True),
            _spread(figures.silence_s),
            _spread(figures.back_s),
            _spread(figures.healed_depth, percent=True),
            _spread(figures.healed_back_s),
            *_latency(figures.latency),
            _lost(figures.lost),
            f"{sum(figures.lost):,}",
        ]


def _latency(latency: Latency) -> list[str]:
    return [_NONE if value is None else number(value) for value in (latency.p50, latency.p99, latency.most)]


def _lost(lost: Sequence[int]) -> str:
    return f"{statistics.median(lost):,g} ({min(lost):,} to {max(lost):,})" if lost else _NONE


def _spread(spread: Spread, *, percent: bool = False) -> str:
    def shown(value: float) -> str:
        return f"{value:.0%}" if percent else f"{value:.2f}"

    if spread.median is None or spread.least is None or spread.most is None:
        return "never" if spread.missing else _NONE
    never = f", {spread.missing} never" if spread.missing else ""
    return f"{shown(spread.median)} ({shown(spread.least)} to {shown(spread.most)}{never})"
