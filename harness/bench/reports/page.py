"""A result as one HTML page: the price of each acks setting first, then ratios, charts, everything else, and the machine. Pure.

Framed like the report of a run: light and dark, a phone's width, no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from analysis.report.frame import Section, document
from analysis.report.html import Child, Html, el, join, raw
from harness.bench.figures import summary as quantities
from harness.bench.figures.summary import Summary
from harness.bench.reports.charts import Chart, charts
from harness.bench.reports.markdown import facts
from harness.bench.reports.tables import Table, acks_table, all_cases, at_rates, costs, number, ratio_tables, starts, warm_ups

_BOUND = " client-bound"


def as_page(summary: Summary) -> str:
    result = summary.result
    intro = [
        el(
            "p",
            el("strong", f"Benchmark {result.suite}"),
            join(" · ", result.began.replace("T", ", ").replace("+00:00", " UTC")),
            class_="run",
        ),
        el("p", result.description, class_="about-run"),
    ]
    title = f"Benchmark {result.suite}: {', '.join(summary.systems)}"
    return document(title, intro, list(_sections(summary)), skip="Skip to the first table")


def _sections(summary: Summary) -> Iterator[Section]:
    yield "acks", "Acks", _section("acks", acks_table(summary), before=[_highlights(summary), _remarks(summary)])
    for place, table in enumerate(ratio_tables(summary)):
        if table.rows:
            yield f"ratios-{place}", table.title, _section(f"ratios-{place}", table)
    yield "charts", "Charts", _charts(charts(summary))
    rest: list[tuple[str, str, Table]] = [
        ("latency", "Latency", at_rates(summary)),
        ("costs", "Costs", costs(summary)),
        ("starts", "Start", starts(summary)),
        ("warm-up", "Warm-up", warm_ups(summary)),
    ]
    if len(summary.headline) < len(summary.cells):
        rest.insert(0, ("cases", "All cases", all_cases(summary)))
    for id_, name, table in rest:
        if table.rows:
            yield id_, name, _section(id_, table)
    yield "machine", "Machine", _machine(summary)


def _section(id_: str, table: Table, before: list[Html] | None = None) -> Html:
    return el("section", *(before or []), el("h2", table.title, id=f"{id_}-title"), _table(table), id=id_, aria_labelledby=f"{id_}-title")


def _table(table: Table) -> Html:
    head = el("tr", *(el("th", text, scope="col") for text in table.head))
    rows = [el("tr", el("th", row[0], scope="row"), *(el("td", _cell(text)) for text in row[1:])) for row in table.rows]
    shown = el("table", el("thead", head), el("tbody", *rows), class_="figures")
    scrolled = el("div", shown, class_="scroll", tabindex=0, role="region", aria_label=table.title)
    return join(scrolled, el("p", table.about, class_="lead"))


def _cell(text: str) -> Child:
    """A range stands small below its figure, with what is said about it; the mark of a client-bound figure stands out."""
    value, bound, _ = text.partition(_BOUND)
    figure, bracket, rest = value.partition(" (")
    below = el("span", f"{bracket}{rest}".strip(), class_="range") if bracket else None
    return join(figure, below, el("span", bound.strip(), class_="tag allowed") if bound else None)


def _highlights(summary: Summary) -> Html:
    """Throughput of each acks setting of the first system, and what it is of the other's."""
    found = []
    for case in summary.headline:
        cell = summary.cells[case][0]
        if spread := cell.spread(quantities.mb_s if cell.case.batch_messages > 1 else quantities.messages_s):
            unit = "MB/s" if cell.case.batch_messages > 1 else "messages/s"
            found.append((summary.names[case], f"{number(spread.median)} {unit}", _beside(summary, case)))
    return el(
        "dl",
        *(el("div", el("dt", name), el("dd", value), el("dd", more, class_="more")) for name, value, more in found),
        class_="facts fitting",
    )


def _beside(summary: Summary, case: int) -> str:
    if len(summary.systems) > 1:
        found = next(iter(summary.ratios(case, 1)), None)
        return f"{summary.systems[0]}, {found[1].value:.2f} times {summary.systems[1]}" if found else ""
    at = summary.cells[case][0].usual_latency
    p99 = at.publish.percentile_ms(99.0) if at else None
    return f"p99 {number(p99)} ms at {at.rate:,.0f} messages/s" if at and p99 is not None else ""


def _remarks(summary: Summary) -> Html:
    found = list(summary.remarks())
    return el("ul", *(el("li", text) for text in found), class_="why") if found else raw("")


def _charts(found: list[Chart]) -> Html:
    figures = json.dumps({chart.name: chart.figure for chart in found}, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    slots = [
        el(
            "figure",
            el("h3", chart.title),
            el("div", id=f"chart-{chart.name}", class_="chart", role="img", aria_label=f"{chart.title}. {chart.about}"),
            el("figcaption", chart.about),
        )
        for chart in found
    ]
    data = el("script", raw(figures), type="application/json", id="figures")
    return el("section", el("h2", "How it went", id="charts-title"), *slots, data, id="charts", aria_labelledby="charts-title")


def _machine(summary: Summary) -> Html:
    pairs = [el("div", el("dt", name), el("dd", text)) for name, text in facts(summary)]
    return el("section", el("h2", "What it is true of", id="machine-title"), el("dl", *pairs, class_="settings"), id="machine")
