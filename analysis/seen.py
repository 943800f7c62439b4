"""What a task has seen, in a form that adds up: of a partition, of a bucket, of a task, of the whole history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis import cycles, metrics
from analysis.check import Joined
from analysis.cycles import Spans
from analysis.findings import Finding, merge
from analysis.legality import Illegal, add_up
from analysis.metrics import Measures


@dataclass(frozen=True, slots=True)
class Seen:
    """`extracts` are those of `families.joined`, in its order; `states` are counts for `coverage`.

    `problems` and `unjudged` are sentences: what could not be read, what was not looked for. `undecided` gaps of service would be
    `unavailable`, had the harness itself not stood still in them.
    """

    findings: tuple[Finding, ...] = ()
    extracts: tuple[Any, ...] = ()
    spans: Spans | None = None
    measures: Measures = field(default_factory=Measures)
    states: Counter[str] = field(default_factory=Counter)
    illegal: Illegal = field(default_factory=Illegal)
    undecided: int = 0
    problems: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


def together(parts: Sequence[Seen], joined: Sequence[Joined]) -> Seen:
    spans = [part.spans for part in parts if part.spans is not None]
    return Seen(
        findings=tuple(merge(finding for part in parts for finding in part.findings).values()),
        extracts=tuple(_join(one.join, [part.extracts[place] for part in parts if part.extracts]) for place, one in enumerate(joined)),
        spans=cycles.join_spans(spans) if spans else None,
        measures=metrics.merge_all(part.measures for part in parts),
        states=sum((part.states for part in parts), Counter()),
        illegal=add_up(part.illegal for part in parts),
        undecided=sum(part.undecided for part in parts),
        problems=tuple(problem for part in parts for problem in part.problems),
        unjudged=tuple(sentence for part in parts for sentence in part.unjudged),
    )


def _join(join: Callable[[Sequence[Any]], Any], found: Sequence[Any]) -> Any | None:
    told = [one for one in found if one is not None]
    return join(told) if told else None
