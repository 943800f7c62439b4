"""The charts of a benchmark, as figures for Plotly: throughput, latency by percentile, latency by rate, warm-up. Pure.

Colours are names of the style sheet's variables, which the page's script fills in. A case has a colour and a system a dash, so that a chart
can be read without colours where there are few of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.bench.figures import summary as quantities
from harness.bench.figures.summary import Cell, Summary
from harness.bench.suites.case import bytes_in_words

_DASHES = ("solid", "dot", "dash", "dashdot")
_COLOURS = 4
_MS = {0.1: "0.1 ms", 1.0: "1 ms", 10.0: "10 ms", 100.0: "100 ms", 1000.0: "1 s", 10_000.0: "10 s"}
_NINES = {1.0: "0", 2.0: "50", 10.0: "90", 100.0: "99", 1000.0: "99.9", 10_000.0: "99.99", 100_000.0: "99.999"}
_LOG_MS = {"type": "log", "tickvals": list(_MS), "ticktext": list(_MS.values())}


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    title: str
    about: str
    figure: dict[str, Any]


def charts(summary: Summary) -> list[Chart]:
    return [chart for make in (_throughput, _by_size, _percentiles, _by_rate, _warm_up) for chart in make(summary)]


def _throughput(summary: Summary) -> Iterator[Chart]:
    bars = []
    for system, name in enumerate(summary.systems):
        cells = [row[system] for row in summary.cells if row[system].loads]
        spreads = [spread for cell in cells if (spread := cell.spread(quantities.mb_s))]
        errors = {
            "type": "data",
            "symmetric": False,
            "array": [_short(one.high - one.median) for one in spreads],
            "arrayminus": [_short(one.median - one.low) for one in spreads],
            "color": "var:--soft",
            "thickness": 1.2,
        }
        names = [summary.names[cell.number].replace(", ", "<br>") for cell in cells]
        bars.append(
            {
                "type": "bar",
                "name": name,
                "x": names,
                "y": [_short(one.median) for one in spreads],
                "error_y": errors,
                "marker": {"color": f"var:--series-{system % _COLOURS + 1}"},
            }
        )
    if any(bar["x"] for bar in bars):
        about = "MB a second until all replicas were equal: median of the rounds, and their range."
        layout = {"xaxis": {"type": "category"}, "yaxis": {"rangemode": "tozero", "ticksuffix": " MB/s"}, "barmode": "group"}
        yield Chart("throughput", "Throughput", about, {"data": bars, "layout": layout})


def _by_size(summary: Summary) -> Iterator[Chart]:
    """Where cases differ in nothing but the size of a record."""
    groups: dict[tuple[str, int], list[Cell]] = {}
    for row in summary.cells:
        for cell in row:
            if cell.loads:
                rest = " ".join(word for word in cell.case.key.split() if not word.startswith("record_bytes="))
                groups.setdefault((rest, cell.system), []).append(cell)
    lines, colours = [], list[str]()
    for (rest, system), cells in groups.items():
        if len(cells) > 1:
            colours += [rest] if rest not in colours else []
            cells.sort(key=lambda cell: cell.case.record_bytes)
            name = f"acks={cells[0].case.acks}, {cells[0].case.replicas} replicas, {summary.systems[system]}"
            values = [spread.median for cell in cells if (spread := cell.spread(quantities.mb_s))]
            lines.append(_line(name, [cell.case.record_bytes for cell in cells], values, colours.index(rest), system))
    if lines:
        sizes = sorted({size for line in lines for size in line["x"]})
        x = {"type": "log", "tickvals": sizes, "ticktext": [bytes_in_words(size) for size in sizes]}
        layout = {"xaxis": x, "yaxis": {"rangemode": "tozero", "ticksuffix": " MB/s"}}
        yield Chart("by-size", "Throughput by record size", "MB a second until all replicas were equal.", {"data": lines, "layout": layout})


def _percentiles(summary: Summary) -> Iterator[Chart]:
    for name, title, of in (("percentiles", "Latency", "publish"), ("end-to-end", "Latency from publish to consume", "end_to_end")):
        lines = []
        for row in summary.cells:
            for cell in row:
                at = cell.usual_latency
                curve = getattr(at, of).curve() if at else ()
                if at and curve:
                    words = f"{_called(summary, cell)}, {at.rate:,.0f}/s"
                    x, y = [100 / (100 - percent) for percent, _ms in curve], [ms for _percent, ms in curve]
                    lines.append(_line(words, x, y, cell.number, cell.system))
        if lines:
            x_axis = {"type": "log", "tickvals": list(_NINES), "ticktext": list(_NINES.values())}
            about = "By percentile, from when a message was due: towards the right ever rarer ones."
            yield Chart(name, title, about, {"data": lines, "layout": {"xaxis": x_axis, "yaxis": _LOG_MS}})


def _by_rate(summary: Summary) -> Iterator[Chart]:
    lines = []
    for row in summary.cells:
        for cell in row:
            points = [(at.rate, ms) for at in cell.at_rates if (ms := at.publish.percentile_ms(99.0)) is not None]
            if len(points) > 1:
                x, y = [rate for rate, _ms in points], [ms for _rate, ms in points]
                lines.append(_line(_called(summary, cell), x, y, cell.number, cell.system, markers=True))
    if lines:
        layout = {"xaxis": {"rangemode": "tozero", "ticksuffix": "/s"}, "yaxis": _LOG_MS}
        yield Chart("by-rate", "Rate against latency", "The 99th percentile at each fixed rate.", {"data": lines, "layout": layout})


def _warm_up(summary: Summary) -> Iterator[Chart]:
    lines = []
    for warm_up in summary.result.warm_ups:
        for case in sorted({case for case, _rate in warm_up.loads}):
            points = [(number, rate) for number, (which, rate) in enumerate(warm_up.loads, start=1) if which == case]
            name = _called(summary, summary.cells[case][warm_up.system])
            lines.append(_line(name, [one for one, _ in points], [rate for _, rate in points], case, warm_up.system))
    if lines:
        layout = {"xaxis": {"dtick": 5}, "yaxis": {"rangemode": "tozero", "ticksuffix": "/s"}}
        yield Chart(
            "warm-up",
            "Warm-up",
            "Messages a second of each load before the rounds, one after the other.",
            {"data": lines, "layout": layout},
        )


def _line(name: str, x: list[Any], y: list[float], colour: int, dash: int, *, markers: bool = False) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if markers else "lines",
        "name": name,
        "x": x,
        "y": [_short(value) for value in y],
        "line": {"color": f"var:--series-{colour % _COLOURS + 1}", "width": 1.8, "dash": _DASHES[dash % len(_DASHES)]},
    }


def _called(summary: Summary, cell: Cell) -> str:
    name = summary.names[cell.number]
    return f"{name}, {summary.systems[cell.system]}" if len(summary.systems) > 1 else name


def _short(value: float) -> float:
    return float(f"{value:.4g}")
