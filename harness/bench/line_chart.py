"""A chart of lines over time as SVG: no script and nothing to fetch, so a report opens anywhere.

Lines differ in dash as well as in colour, and each is named in words below the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.report.html import Html, el

WIDTH, HEIGHT = 720, 220
_LEFT, _BOTTOM, _TOP = 64, 24, 12
_DASHES = (None, "6 3", "2 3", "8 3 2 3")
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """Points (seconds, value); NaN leaves a gap."""

    name: str
    points: Sequence[tuple[float, float]]


def line_chart(title: str, unit: str, lines: Sequence[Line]) -> Html:
    numbers = [point for line in lines for point in line.points if not math.isnan(point[1])]
    last = max((second for second, _ in numbers), default=1.0) or 1.0
    top = _round_up(max((value for _, value in numbers), default=1.0))
    drawn = [_drawn(line, place, last, top) for place, line in enumerate(lines)]
    picture = el(
        "svg",
        *(_tick(step / _TICKS, top, unit) for step in range(_TICKS + 1)),
        *(el("text", f"{last * step / _TICKS:g} s", x=_x(step / _TICKS), y=HEIGHT - 6, text_anchor="middle") for step in range(_TICKS + 1)),
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=title,
    )
    legend = el("p", *(_named(line, place) for place, line in enumerate(lines)), class_="legend")
    return el("figure", el("figcaption", title), picture, legend)


STYLE = """
svg { width: 100%; max-width: 45rem; height: auto; font: 11px system-ui, sans-serif; fill: currentColor; }
svg path { fill: none; stroke-width: 1.8; } svg line { stroke: currentColor; opacity: .18; } figure { margin: 1.5rem 0; }
figcaption { font-weight: 600; } .legend { margin: 0; } .legend span { margin-right: 1.5rem; }
.line-0 { stroke: #0a6880; } .line-1 { stroke: #b3541e; } .line-2 { stroke: #8a5a9e; } .line-3 { stroke: #7a7f00; }
"""


def _drawn(line: Line, place: int, last: float, top: float) -> Html:
    commands, pen = [], "M"
    for second, value in line.points:
        if math.isnan(value):
            pen = "M"
            continue
        commands.append(f"{pen}{_x(second / last):.1f} {_y(value / top):.1f}")
        pen = "L"
    return el("path", d=" ".join(commands), class_=f"line-{place % 4}", stroke_dasharray=_DASHES[place % 4])


def _named(line: Line, place: int) -> Html:
    sample = el("svg", el("path", d="M0 6 L28 6", class_=f"line-{place % 4}", stroke_dasharray=_DASHES[place % 4]), width=30, height=12)
    return el("span", el("span", sample, style="display:inline-block;width:30px;margin-right:.3rem"), line.name)


def _tick(share: float, top: float, unit: str) -> list[Html]:
    y = _y(share)
    rule = el("line", x1=_LEFT, x2=WIDTH, y1=y, y2=y)
    return [rule, el("text", f"{top * share:,.6g} {unit}", x=_LEFT - 6, y=y + 4, text_anchor="end")]


def _x(share: float) -> float:
    return round(_LEFT + share * (WIDTH - _LEFT - 16), 1)


def _y(share: float) -> float:
    return round(HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP), 1)


def _round_up(value: float) -> float:
    """To 1, 2, 4, 5 or 8 times a power of ten: ticks at its quarters are then short numbers."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 4, 5, 8, 10) if factor * power >= value)
