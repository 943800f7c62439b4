"""The plan, whole, and what the report rests on: enough to run it again and to look further."""

from __future__ import annotations

import json
from dataclasses import asdict

from analysis.report.html import Html, el
from analysis.report.source import Source
from analysis.report.words import count


def planned(source: Source) -> Html:
    return el(
        "section",
        el("h2", "Plan and environment", id="plan-title"),
        el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in _facts(source).items()), class_="settings"),
        _block("The plan, as it is in plan.json", asdict(source.plan)) if source.plan else None,
        _block("Metrics, as they are in verdict.json", dict(source.verdict.metrics)) if source.verdict.metrics else None,
        id="plan",
        aria_labelledby="plan-title",
    )


def _facts(source: Source) -> dict[str, str]:
    plan, settings, history = source.plan, source.settings, source.history
    found = {
        "folder": source.name,
        "began": source.began.strftime("%Y-%m-%d %H:%M:%S UTC") if source.began else "",
        "scenario": str(settings.get("name", "")),
        "system": str(settings.get("system", "")),
        "nodes": f"{settings['nodes']} ({settings.get('nodes_kind', '')})" if "nodes" in settings else "",
        "seed": str(plan.seed) if plan else "",
        "rows": f"{history.rows:,} in {count(len(history.files), 'file')}" if history else "not readable again",
    }
    return {name: value for name, value in found.items() if value}


def _block(title: str, content: dict[str, object]) -> Html:
    return el("details", el("summary", title), el("pre", json.dumps(content, indent=2, ensure_ascii=False), tabindex=0))
