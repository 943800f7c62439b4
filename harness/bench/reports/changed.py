"""A comparison of two results in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.bench.figures.changes import Change
from harness.bench.figures.results import Result
from harness.bench.reports.tables import number

HEAD = ("system", "case", "what", "before", "after", "after / before", "")


def as_rows(found: Sequence[Change], threshold: float) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return HEAD, [
        (
            change.system,
            change.case,
            change.what,
            number(change.before),
            number(change.after),
            f"{change.ratio.value:.2f} ({change.ratio.low:.2f} to {change.ratio.high:.2f})",
            change.verdict(threshold),
        )
        for change in found
    ]


def sentences(before: Result, after: Result, found: Sequence[Change], unmatched: Sequence[str], threshold: float) -> Iterator[str]:
    if before.machine != after.machine:
        yield "The two were measured on different machines or with different versions: what changed may be that."
    if unmatched:
        yield f"Only one of them has: {'; '.join(unmatched)}."
    worse = [change for change in found if change.is_regression(threshold)]
    told = sum(change.ratio.tells_apart for change in found)
    yield f"{told} of {len(found)} figures changed by more than noise."
    if worse:
        names = "; ".join(f"{change.system}, {change.case}, {change.what}: {change.worsened_by:.0%} worse" for change in worse)
        yield f"Regressions past {threshold:.0%}: {names}."
    else:
        yield f"No regression past {threshold:.0%}."
