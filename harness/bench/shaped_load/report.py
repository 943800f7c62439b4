"""A shaped load for people and for programs: report.md, report.html and report.json in its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict

from analysis.report.html import el, raw
from harness.bench.line_chart import STYLE, Line, line_chart
from harness.bench.report import number
from harness.bench.shaped_load.outcome import LoadOutcome, Requests
from harness.bench.shaped_load.plan import LoadPlan

HEAD = ("requests", "count", "failed", "MB", "p50 ms", "p99 ms", "p99.9 ms", "max ms")
_PAGE = """
:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid #8884; padding: .3rem .7rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } .scroll { overflow-x: auto; }
"""


def write_report(plan: LoadPlan, outcome: LoadOutcome) -> None:
    (outcome.folder / "report.json").write_text(as_json(plan, outcome))
    (outcome.folder / "report.md").write_text(as_markdown(plan, outcome))
    (outcome.folder / "report.html").write_text(as_html(plan, outcome))


def as_json(plan: LoadPlan, outcome: LoadOutcome) -> str:
    """NaN is null, since JSON has none."""
    content = {"plan": asdict(plan), **asdict(outcome), "folder": outcome.folder.name}
    return json.dumps(_without_nan(content), indent=2, allow_nan=False) + "\n"


def as_markdown(plan: LoadPlan, outcome: LoadOutcome) -> str:
    lines = [f"# {title(plan)}", "", about(plan), "", "| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    lines += ["| " + " | ".join(cells(one)) + " |" for one in outcome.requests]
    lines += ["", *remarks(outcome)]
    if outcome.errors:
        lines += ["", "| requests | error | times |", "|---|---|---|"]
        lines += [f"| {error.kind} | {error.error.replace('|', '/')} | {error.times:,} |" for error in outcome.errors]
    return "\n".join(lines) + "\n"


def as_html(plan: LoadPlan, outcome: LoadOutcome) -> str:
    head = el("tr", *(el("th", text, scope="col") for text in HEAD))
    rows = [el("tr", *(el("td", text) for text in cells(one))) for one in outcome.requests]
    errors = [el("li", f"{error.kind}: {error.error}, {error.times:,} times") for error in outcome.errors]
    seconds = outcome.seconds
    charts = [
        line_chart("Users", "", [Line("users", [(one.second, one.users) for one in seconds])]),
        line_chart(
            "Messages a second",
            "",
            [
                Line("acknowledged or failed", [(one.second, one.produced) for one in seconds]),
                Line("read", [(one.second, one.consumed) for one in seconds]),
                Line("failed", [(one.second, one.failed) for one in seconds]),
            ],
        ),
        line_chart("p99 of produce over the ten seconds before", "ms", [Line("p99", [(one.second, one.p99_ms) for one in seconds])]),
    ]
    body = el(
        "body",
        el("h1", title(plan)),
        el("p", about(plan)),
        el("div", el("table", el("thead", head), el("tbody", *rows)), class_="scroll"),
        *(el("p", remark) for remark in remarks(outcome)),
        el("ul", *errors) if errors else None,
        *charts,
    )
    meta = [el("meta", charset="utf-8"), el("meta", name="viewport", content="width=device-width"), el("title", title(plan))]
    return f"<!doctype html>\n{el('html', el('head', *meta, el('style', raw(_PAGE + STYLE))), body, lang='en')}\n"


def title(plan: LoadPlan) -> str:
    return f"Load in the shape of a {plan.shape}" if plan.shape != "flat" else "Even load"


def about(plan: LoadPlan) -> str:
    return (
        f"Up to {plan.users} producers of {plan.rate:g} messages a second, {plan.record_bytes:,} bytes each, acks={plan.acks}; "
        f"{plan.consumers} {'reader' if plan.consumers == 1 else 'readers'}; {plan.seconds} s; Locust, librdkafka through Python. "
        "Latency counts from when a message was due, to its acknowledgement (produce) or to its reader (consume)."
    )


def cells(one: Requests) -> list[str]:
    figures = [number(value) for value in (one.p50, one.p99, one.p999, one.max)]
    return [one.kind, f"{one.count:,}", f"{one.failures:,}", number(one.bytes / 1e6), *figures]


def remarks(outcome: LoadOutcome) -> Iterator[str]:
    if outcome.appended is not None:
        yield f"{outcome.acknowledged:,} messages were acknowledged; the brokers' own metrics count {outcome.appended:,} appended."
    if outcome.interrupted:
        yield "It was ended before its time."


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value
