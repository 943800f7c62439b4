"""A verdict without Spark: what the second checker found, judged like everything else.

For whoever has many small runs to judge one after the other (`./highwater prove`): it takes no JVM and no task, and the whole analysis is
asked only about what this one condemns. A witness here is told by its numbers alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis import metrics, reference
from analysis.anomalies import ANOMALIES
from analysis.checking import Checked
from analysis.columns import Rows
from analysis.findings import SHOWN, Finding, Witness
from analysis.judging import Question, verdict_on
from analysis.sources import material_of, source_at
from analysis.verdict import Verdict
from harness.history.schema import Function, Outcome


def judge_by_reference(run: Path) -> Verdict:
    """Of the folder of a run; nothing is written."""
    material = material_of(source_at(run))
    rows = material.history.read_all(metrics.COLUMNS)
    measures = metrics.measure(Rows(rows, material.history.names))
    checked = Checked(findings_of(reference.check(run)), measures)
    sends = sum(measures.count(Function.SEND, outcome) for outcome in Outcome)
    return replace(verdict_on(material, checked, Question()), metrics={"sends": sends}, checked_by=("reference",))


def findings_of(found: reference.Found) -> dict[str, Finding]:
    return {name: _finding(name, found[name], found.doubtful.get(name, set())) for name in ANOMALIES if found.get(name)}


def _finding(name: str, instances: set[reference.Instance], doubtful: set[reference.Instance]) -> Finding:
    witnesses = sorted((_witness(name, one, one in doubtful) for one in instances), key=lambda witness: witness.order)
    return Finding(name, len(instances), tuple(witnesses[:SHOWN]), len(doubtful))


def _witness(name: str, instance: reference.Instance, doubtful: bool) -> Witness:
    topic, part, *numbers = instance
    anomaly = ANOMALIES[name]
    told = ", ".join(f"{what} {number}" for what, number in zip(anomaly.identity, numbers, strict=True))
    where = "" if topic is None else f" in {topic}-{part}"
    identity = tuple(int(number) for number in numbers if number is not None)
    return Witness(
        f"{anomaly.definition.capitalize()}: {told}{where}.",
        identity,
        topic=None if topic is None else str(topic),
        part=None if part is None else int(part),
        doubtful=doubtful,
    )
