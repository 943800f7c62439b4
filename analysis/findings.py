"""What a check gives back: how many, and a few of them told so that a person can verify each.

Counts are exact and complete, whatever is shown. Findings of the same anomaly from different partitions add up; of their witnesses the
smallest by identity are kept, so that the same history shows the same witnesses however Spark divided the work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.anomalies import ANOMALIES

SHOWN = 10
"""Witnesses kept of one anomaly."""


@dataclass(frozen=True, slots=True)
class Witness:
    """`identity` has the numbers that `anomalies` names, `ops` every operation the sentence speaks of, `offset` the place to draw.

    `doubtful`: an operation in it ended `info`, so that it is reported and never an error.
    """

    sentence: str
    identity: tuple[int, ...]
    ops: tuple[int, ...] = ()
    topic: str | None = None
    part: int | None = None
    offset: int | None = None
    doubtful: bool = False

    @property
    def order(self) -> tuple[bool, str, int, tuple[int, ...]]:
        """Errors first."""
        return self.doubtful, self.topic or "", -1 if self.part is None else self.part, self.identity


@dataclass(frozen=True, slots=True)
class Finding:
    """`doubtful` of the `count` are."""

    name: str
    count: int
    witnesses: tuple[Witness, ...] = ()
    doubtful: int = 0

    def __post_init__(self) -> None:
        assert self.name in ANOMALIES, self.name
        assert 0 <= self.doubtful <= self.count and len(self.witnesses) <= self.count


def merge(findings: Iterable[Finding]) -> dict[str, Finding]:
    """By name, in the order of the table of anomalies; those not found are left out."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.count:
            found.setdefault(finding.name, []).append(finding)
    return {name: _sum(found[name]) for name in ANOMALIES if name in found}


def _sum(findings: list[Finding]) -> Finding:
    shown = sorted((witness for finding in findings for witness in finding.witnesses), key=lambda witness: witness.order)
    return Finding(
        findings[0].name,
        sum(finding.count for finding in findings),
        tuple(shown[:SHOWN]),
        sum(finding.doubtful for finding in findings),
    )
