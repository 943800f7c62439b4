"""Who judges a cycle: the reference checker at once, the whole analysis on what that one condemned."""

from __future__ import annotations

from pathlib import Path

from analysis import judge
from analysis.by_reference import judge_by_reference as verdict_by_reference
from analysis.verdict import Judged, Verdict
from harness.history.errors import HistoryError
from harness.prove.cluster_arm import Judgement


def judge_by_reference(run: Path) -> Judgement:
    try:
        return judgement(verdict_by_reference(run))
    except HistoryError as problem:
        return Judgement(None, {}, 0, str(problem))


def confirm_on_spark(run: Path, anomaly: str) -> str | None:
    """Its verdict and report lie in the folder afterwards."""
    verdict = judge(run)
    found = verdict.anomalies.get(anomaly)
    return _told(found) if verdict.valid is False and found is not None and found.errors else None


def judgement(verdict: Verdict) -> Judgement:
    forbidden = {name: _told(judged) for name, judged in verdict.anomalies.items() if judged.errors}
    valid = verdict.valid if isinstance(verdict.valid, bool) else None
    why = " ".join(verdict.why) if valid is None else ""
    return Judgement(valid, forbidden, _sent(verdict), why)


def _told(judged: Judged) -> str:
    return judged.witnesses[0].sentence if judged.witnesses else judged.reason


def _sent(verdict: Verdict) -> int:
    sends: int = verdict.metrics.get("sends", 0)
    return sends
