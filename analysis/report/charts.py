"""Rate, latency and lag over time, as figures for Plotly, whose script comes out of its wheel and is put into the page once.

Colours are names of the style sheet's variables (`var:--…`): the page's script puts the colour in when it draws, and draws again when the
page turns dark. Lines differ in dash too. Faults are bands with the number they have in the timeline.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from analysis.histogram import Reals
from analysis.metrics import LAG, PERCENTILES, Measures
from analysis.report.html import Html, el, raw
from analysis.report.source import Source
from analysis.report.words import seconds
from harness.history.beside import Fault
from harness.history.schema import Function, Outcome

_TICKS = {1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 0.01: "10 ms", 0.1: "100 ms"} | {
    1.0: "1 s",
    10.0: "10 s",
    100.0: "100 s",
}
_DASHES = ("solid", "dash", "dot", "dashdot")
_NUMBERED = 40
"""Bands above which their numbers would only hide each other."""


def charts(source: Source) -> Html:
    figures = _figures(source)
    return el(
        "section",
        el("h2", "How it went", id="charts-title"),
        el("p", "Grey bands are faults, with their numbers in the timeline below.", class_="lead") if source.faults else None,
        *(_slot(name, title, about) for name, (title, about, _) in figures.items()),
        _percentile_table(source.measures),
        _causes(source),
        el("script", raw(_json({name: figure for name, (_, _, figure) in figures.items()})), type="application/json", id="figures"),
        id="charts",
        aria_labelledby="charts-title",
    )


def _slot(name: str, title: str, about: str) -> Html:
    return el(
        "figure",
        el("h3", title),
        el("div", id=f"chart-{name}", class_="chart", role="img", aria_label=f"{title}. {about}"),
        el("figcaption", about),
    )


def _figures(source: Source) -> dict[str, tuple[str, str, dict[str, Any]]]:
    measures = source.measures.under_load()
    shapes, labels = _bands(source.faults)
    rates = [
        _line("acknowledged", *measures.rates(Function.SEND), 0),
        _line("read", *measures.rates(Function.POLL), 1),
        *(
            _line(name, *measures.rates(Function.SEND, outcome), place)
            for name, outcome, place in (("unknown", Outcome.INFO, 2), ("failed", Outcome.FAIL, 3))
            if measures.count(Function.SEND, outcome)
        ),
    ]
    found = {
        "rate": ("Rate", "Messages a second by outcome, without the final reads.", _figure(rates, shapes, labels)),
        "latency": (
            "Latency of acknowledged sends",
            "From when it was due to its acknowledgement, logarithmic.",
            _figure(_percentile_lines(measures, Function.SEND), shapes, labels, log=True),
        ),
    }
    if measures.count(LAG):
        lag = _figure(_percentile_lines(measures, LAG), shapes, labels, log=True)
        found["lag"] = ("Lag of readers", "From a send to the first poll of its value, logarithmic.", lag)
    return found


def _figure(lines: list[dict[str, Any]], shapes: list[Any], labels: list[Any], *, log: bool = False) -> dict[str, Any]:
    y: dict[str, Any] = {"type": "log", "tickvals": list(_TICKS), "ticktext": list(_TICKS.values())} if log else {"rangemode": "tozero"}
    return {"data": lines, "layout": {"xaxis": {"ticksuffix": " s"}, "yaxis": y, "shapes": shapes, "annotations": labels}}


def _line(name: str, times: Reals, values: Reals, place: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [round(float(time), 3) for time in times],
        "y": [None if np.isnan(value) else float(f"{value:.4g}") for value in values],
        "line": {"color": f"var:--series-{place + 1}", "width": 1.8, "dash": _DASHES[place % len(_DASHES)]},
        "connectgaps": False,
    }


def _percentile_lines(measures: Measures, function: int) -> list[dict[str, Any]]:
    times, sizes = measures.percentiles_over_time(function)
    return [_line(name, times, found / 1e9, place) for place, (name, found) in enumerate(sizes.items()) if not np.isnan(found).all()]


def _bands(faults: tuple[Fault, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    struck = sorted((fault for fault in faults if fault.start is not None), key=lambda fault: fault.start or 0)
    shapes = []
    for fault in struck:
        start, end = (fault.start or 0) / 1e9, (fault.end or fault.start or 0) / 1e9
        place = {"xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1}
        shapes.append({"type": "rect", **place, "fillcolor": "var:--band", "line": {"width": 0}, "layer": "below"})
    return shapes, _numbers(struck) if len(struck) <= _NUMBERED else []


def _numbers(struck: list[Fault]) -> list[dict[str, Any]]:
    """At the beginning of each band; those that would lie upon each other share a label."""
    near = 0.03 * max(((fault.end or fault.start or 0) / 1e9 for fault in struck), default=0.0)
    groups: list[tuple[float, list[str]]] = []
    for fault in struck:
        start = (fault.start or 0) / 1e9
        if groups and start - groups[-1][0] < near * len(groups[-1][1]):
            groups[-1][1].append(str(fault.id))
        else:
            groups.append((start, [str(fault.id)]))
    common = {"y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom", "xanchor": "left", "showarrow": False, "font": {"size": 10}}
    return [{"x": start, "text": ", ".join(names)} | common for start, names in groups]


def _percentile_table(measures: Measures) -> Html | None:
    kinds: list[tuple[str, int, Outcome]] = [
        (f"sends, {name}", Function.SEND, outcome) for name, outcome in (("acknowledged", Outcome.OK), ("unknown", Outcome.INFO))
    ]
    kinds.append(("lag of readers", LAG, Outcome.OK))
    rows = []
    for name, function, outcome in kinds:
        if sizes := measures.percentiles(function, outcome):
            cells = [el("td", seconds(sizes[each] / 1e9) if each in sizes else "—") for each in PERCENTILES]
            rows.append(el("tr", el("th", name, scope="row"), el("td", f"{measures.count(function, outcome):,}"), *cells))
    if not rows:
        return None
    head = el("tr", *(el("th", text, scope="col") for text in ("", "samples", *PERCENTILES)))
    table = el("table", el("caption", "In all"), el("thead", head), el("tbody", *rows), class_="figures")
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Percentiles")


def _causes(source: Source) -> Html | None:
    causes = source.verdict.metrics.get("causes", ())
    if not causes:
        return None
    head = el("tr", *(el("th", text, scope="col") for text in ("Operation", "Outcome", "Error", "Times")))
    rows = [el("tr", *(el("td", str(one[key])) for key in ("f", "outcome", "error")), el("td", f"{one['count']:,}")) for one in causes[:20]]
    table = el("table", el("caption", "What clients were told"), el("thead", head), el("tbody", *rows), class_="figures")
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Causes of failed and unknown operations")


def _json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
