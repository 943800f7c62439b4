"""From what was found to the verdict: kept, broken, or cannot tell, each with the sentences that decided it.

A broken promise is proven by its witnesses, whatever else is in doubt: a fault that did not take place makes no lost message come back. Two
doubts go before it, because they take the witnesses themselves away: a history that cannot have happened, and two checkers that
disagree. Everything else only keeps a run without errors from being called sound.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from analysis.anomalies import ANOMALIES
from analysis.checking import Checked
from analysis.circumstances import circumstances_of
from analysis.context import Rules, RunContext, finals_of
from analysis.coverage import assess
from analysis.legality import Illegal
from analysis.material import Material
from analysis.metrics import summary
from analysis.promises import forbidden
from analysis.settled import Settled, settle
from analysis.suspension import progress_of
from analysis.verdict import UNKNOWN, Judged, Promised, Verdict, judge
from harness.history.beside import UNPROVEN, Fault, Final
from harness.history.plan import Promises
from harness.history.schema import Function

SPARK = "spark"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Question:
    """By which rules, and what whoever asks states about the settings."""

    rules: Rules = "highwater"
    stated: Promises = field(default_factory=Promises)


def context_for(material: Material, question: Question) -> RunContext:
    """What the checks have to know of the run."""
    settled = _settled(material, question)
    return RunContext(
        rules=question.rules,
        ordered=_ordered(settled),
        finals=finals_of(material.finals),
        progress=progress_of(settled, material.plan, material.faults, material.events),
    )


def verdict_on(material: Material, checked: Checked, question: Question) -> Verdict:
    settled = _settled(material, question, checked.measures.operations)
    problems = (*material.problems, *checked.problems)
    seen = circumstances_of(
        material.faults,
        material.events,
        material.finals,
        checked.measures.operations,
        dumped=bool(material.batches.groups),
        complete=not problems,
    )
    rulings = forbidden(settled, seen, question.rules)
    anomalies = judge(checked.findings, rulings)
    acknowledged = checked.measures.count(Function.SEND)
    until = min((final.invoked for final in material.finals), default=None)
    coverage = assess([checked.states], material.events, material.faults, str(settled["acks"]), until)
    doubts = [
        *_unread(problems),
        *checked.unjudged,
        *_nothing_acknowledged(acknowledged),
        *_not_read_to_end(material, acknowledged),
        *_unproven(material.faults),
        *_stalled(checked.undecided),
        *_not_covered(required_states(material), coverage),
    ]
    valid, why = _decide(anomalies, _condemned(checked.illegal), doubts, acknowledged)
    return Verdict(
        valid,
        why,
        Promised(question.rules, settled, rulings),
        anomalies,
        coverage=coverage,
        metrics=summary(checked.measures, str(settled["acks"]), material.faults),
        faults=tuple(_fault_data(fault) for fault in material.faults),
        checked_by=(SPARK,),
    )


def required_states(material: Material) -> list[str]:
    """What the scenario expects to have been reached."""
    settings = {} if material.plan is None else material.plan.scenario.get("settings") or {}
    return list(settings.get("expect", {}).get("coverage", ()))


def disputed(verdict: Verdict, other: str, differences: Sequence[str]) -> Verdict:
    """What becomes of a verdict when a second checker has looked."""
    if not differences:
        return replace(verdict, checked_by=(*verdict.checked_by, other))
    told = f"The two checkers disagree, so one of them is wrong: {_some(differences)}."
    return replace(verdict, valid=UNKNOWN, why=(told, *verdict.why))


def _decide(anomalies: Mapping[str, Judged], condemned: Sequence[str], doubts: Sequence[str], acknowledged: int) -> Any:
    broken = tuple(_broken(name, judged) for name, judged in anomalies.items() if judged.errors)
    if condemned:
        return UNKNOWN, (*condemned, *broken, *doubts)
    if broken:
        return False, (*broken, *doubts)
    if doubts:
        return UNKNOWN, tuple(doubts)
    return True, (f"Nothing that was promised was broken in {acknowledged:,} acknowledged sends.",)


def _broken(name: str, judged: Judged) -> str:
    return f"{name}, {judged.errors:,} times: {ANOMALIES[name].definition}. {judged.reason}"


def _condemned(illegal: Illegal) -> list[str]:
    if not illegal.count:
        return []
    told = f"The history cannot have happened, which condemns what recorded it and not the broker ({illegal.count:,} times): "
    return [told + "; ".join(illegal.sentences) + "."]


def _unread(problems: Sequence[str]) -> Iterator[str]:
    if problems:
        yield f"A part of the history could not be read: {_some(problems)}."


def _nothing_acknowledged(acknowledged: int) -> Iterator[str]:
    if not acknowledged:
        yield "Not one send was acknowledged: there is nothing that could have been kept or broken."


def _not_read_to_end(material: Material, acknowledged: int) -> Iterator[str]:
    """Of a run of ours: a foreign history has no final reads, and its verdict speaks of what was read."""
    short = [final for final in _furthest(material.finals).values() if not _reached(final)]
    if short:
        yield f"The final reads did not reach the end of {_some([_how_far(final) for final in short])}."
    elif not material.finals and acknowledged and material.plan is not None and material.plan.scenario.get("settings"):
        yield "There was no final read, so what is missing may only not have been read yet."


def _furthest(finals: Sequence[Final]) -> dict[tuple[str, int], Final]:
    """Of several readers of a partition one is enough."""
    found: dict[tuple[str, int], Final] = {}
    for final in sorted(finals, key=_reached):
        found[final.topic, final.part] = final
    return found


def _reached(final: Final) -> bool:
    if final.completed is None:
        return False
    return final.end <= final.log_start or (final.last_read is not None and final.last_read >= final.end - 1)


def _how_far(final: Final) -> str:
    read = "nothing was read" if final.last_read is None else f"read to {final.last_read}"
    return f"{final.topic}-{final.part} ({read}, its end is {final.end})"


def _unproven(faults: Sequence[Fault]) -> Iterator[str]:
    missing = [f"{fault.fault} of {fault.selector} (fault {fault.id})" for fault in faults if fault.state == UNPROVEN]
    if missing:
        yield f"Planned, and not proven to have taken place: {_some(missing)}."


def _stalled(undecided: int) -> Iterator[str]:
    if undecided:
        yield f"The harness itself stood still in {undecided:,} gaps of service, so nobody can tell whose they are."


def _not_covered(required: Sequence[str], coverage: Mapping[str, Any]) -> Iterator[str]:
    missed = [f"{name} ({coverage[name]['state']})" for name in required if coverage.get(name, {}).get("state") != "reached"]
    if missed:
        yield f"The scenario requires states that this run does not show: {_some(missed)}."


def _settled(material: Material, question: Question, operations: frozenset[str] = frozenset()) -> Settled:
    return settle(None if material.plan is None else material.plan.promises, question.stated, operations)


def _ordered(settled: Settled) -> bool | None:
    if settled["idempotence"] is True or settled["in_flight"] == 1:
        return True
    return None if settled["idempotence"] is None and settled["in_flight"] is None else False


def _fault_data(fault: Fault) -> dict[str, Any]:
    return asdict(fault) | {name: json.loads(text) if text else None for name, text in (("proof", fault.proof), ("healed", fault.healed))}


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
