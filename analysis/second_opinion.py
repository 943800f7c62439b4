"""What the second checker makes of a run, held against what Spark found: counts of everything, and each witness shown.

It holds the whole history as Python objects, so it is asked about small runs only. Whose a duplicate is (`own_duplicates`) is no part of
what the two agree on, and neither is service where whoever asks states another promise than the plan: the second checker reads the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from analysis.anomalies import ANOMALIES
from analysis.findings import Finding, Witness
from analysis.judging import Question
from analysis.material import Material

if TYPE_CHECKING:
    from analysis.reference import Found, Instance

REFERENCE = "reference"
LARGEST = 300_000
"""Rows of a history that it is asked about."""

_NONE = Finding("lost", 0)


def may_be_asked(material: Material) -> bool:
    """It reads a whole and sound run, or none."""
    return 0 < material.history.rows <= LARGEST and material.plan is not None and not material.problems


def differences(material: Material, findings: Mapping[str, Finding], question: Question) -> list[str]:
    """Sentences; none where both agree."""
    from analysis.reference import check

    assert material.plan is not None
    found = check(material.run, question.rules)
    names = [name for name in ANOMALIES if name != "unavailable" or question.stated.progress in (None, material.plan.promises.progress)]
    return [text for name in names for text in _differences(name, findings.get(name, _NONE), found)]


def _differences(name: str, ours: Finding, found: Found) -> Iterator[str]:
    theirs, doubtful = found.get(name, set()), found.doubtful.get(name, set())
    if ours.count != len(theirs):
        yield f"{name}: Spark finds {ours.count:,}, the reference {len(theirs):,}{_example(ours, theirs)}"
        return
    if name != "duplicate" and ours.doubtful != len(doubtful):
        yield f"{name}: Spark doubts {ours.doubtful:,} of {ours.count:,}, the reference {len(doubtful):,}"
    for witness in ours.witnesses:
        if _instance(name, witness) not in theirs:
            yield f"{name}: the reference has not got what Spark tells: {witness.sentence.rstrip('.')}"


def _example(ours: Finding, theirs: set[Instance]) -> str:
    """One that only the reference has, where the witnesses show all of ours."""
    told = {_instance(ours.name, witness) for witness in ours.witnesses}
    missing = sorted(theirs - told, key=repr) if len(told) == ours.count else []
    return f", as {missing[0]}" if missing else ""


def _instance(name: str, witness: Witness) -> Instance:
    place = (None, None) if ANOMALIES[name].across else (witness.topic, witness.part)
    return (*place, *witness.identity)
