"""Who judges a cycle: the reference checker at once, the whole analysis on what that one condemned."""

from __future__ import annotations

from pathlib import Path

from analysis import judge
from analysis.by_reference import judge_by_reference as verdict_by_reference
from analysis.verdict import Verdict
from harness.history.errors import HistoryError
from harness.prove.cluster_arm import Judgement


def judge_by_reference(run: Path) -> Judgement:
    try:
        return judgement(verdict_by_reference(run))
    except HistoryError as problem:
        return Judgement(None, {}, 0, str(problem))


def confirmed_on_spark(run: Path) -> bool:
    """Its verdict and report lie in the folder afterwards."""
    return judge(run).valid is False


def judgement(verdict: Verdict) -> Judgement:
    forbidden = {
        name: judged.witnesses[0].sentence if judged.witnesses else judged.reason
        for name, judged in verdict.anomalies.items()
        if judged.errors
    }
    valid = verdict.valid if isinstance(verdict.valid, bool) else None
    why = " ".join(verdict.why) if valid is None else ""
    return Judgement(valid, forbidden, _sent(verdict), why)


def _sent(verdict: Verdict) -> int:
    sends: int = verdict.metrics.get("sends", 0)
    return sends
