"""Pictures of witnesses, as SVG: a partition's log around the place, and operations that go in a circle.

What matters is marked by more than colour: values of the witness have a thick frame, an offset with several values says so in words.
Colours are the style sheet's, so that a picture follows the page from light to dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.report.excerpt import Excerpt, Line
from analysis.report.html import Child, Html, el
from analysis.report.words import short

_CELL, _GAP, _ROW, _HEAD, _LABELS = 78, 22, 30, 40, 178
_GLYPHS = {"ok": "✓", "fail": "✕", "info": "?"}


def log_picture(excerpt: Excerpt, title: str) -> Html:
    """Offsets across, replicas and operations down; who they are stays in sight when the rest is scrolled."""
    lefts = _lefts(excerpt.offsets)
    width = max(lefts.values()) + _CELL + 12
    height = _HEAD + _ROW * len(excerpt.lines) + 10
    names: list[Child] = []
    drawn: list[Child] = [el("title", title)]
    for offset, left in lefts.items():
        drawn += _column(offset, left, height, offset in excerpt.conflicts)
    for row, line in enumerate(excerpt.lines):
        top = _HEAD + row * _ROW
        names += _name(line, top)
        drawn += _line(excerpt, line, lefts, top, width)
    centre = round(sum(lefts[offset] for offset in excerpt.own) / max(len(excerpt.own), 1)) + _CELL // 2
    return el(
        "div",
        el("svg", *names, viewBox=f"0 0 {_LABELS} {height}", width=_LABELS, height=height, class_="names"),
        el("svg", *drawn, viewBox=f"0 0 {width} {height}", width=width, height=height, role="img", class_="cells"),
        class_="scroll log",
        tabindex=0,
        role="region",
        aria_label=f"Log of {excerpt.topic}-{excerpt.part} around the place, it can be scrolled",
        data_centre=centre,
    )


Step = tuple[int, int, str]
"""From which operation to which, as positions, and what stands at the arrow."""


def cycle_picture(ops: Sequence[int], steps: Sequence[Step], title: str) -> Html:
    """A ring of operations, T1 at the top."""
    radius = 42 + 26 * max(len(ops), 3)
    points = [_on_circle(radius, turn / len(ops)) for turn in range(len(ops))]
    left, top = min(x for x, _ in points) - 64, min(y for _, y in points) - 22
    width, height = max(x for x, _ in points) + 64 - left, max(y for _, y in points) + 22 - top
    drawn: list[Child] = [el("title", title)]
    for before, after, label in steps:
        drawn += _arrow(points[before], points[after], label, back=(after, before) in {step[:2] for step in steps})
    for place, (op, (x, y)) in enumerate(zip(ops, points, strict=True), 1):
        drawn.append(el("rect", x=round(x - 58), y=round(y - 16), width=116, height=32, rx=16, class_="op"))
        drawn.append(
            el("text", el("tspan", f"T{place} ", class_="who"), f"op {short(op)}", x=round(x), y=round(y + 4), text_anchor="middle")
        )
    picture = el(
        "svg",
        *drawn,
        viewBox=f"{left:.0f} {top:.0f} {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        class_="cycle",
    )
    return el("div", picture, class_="scroll", tabindex=0, role="region", aria_label="Operations in a circle, it can be scrolled")


def _lefts(offsets: Sequence[int]) -> dict[int, int]:
    """Where each column begins; a gap stands for the offsets left out."""
    found: dict[int, int] = {}
    left = 4
    for place, offset in enumerate(offsets):
        if place and offset != offsets[place - 1] + 1:
            left += _GAP
        found[offset] = left
        left += _CELL
    return found


def _column(offset: int, left: int, height: int, conflict: bool) -> list[Child]:
    middle = left + _CELL // 2
    drawn: list[Child] = [el("text", str(offset), x=middle, y=16, text_anchor="middle", class_="offset")]
    if conflict:
        drawn.append(el("rect", x=left + 1, y=22, width=_CELL - 4, height=height - 26, class_="conflicting", rx=4))
        drawn.append(el("text", "conflict", x=middle, y=34, text_anchor="middle", class_="conflict-word"))
    return drawn


def _name(line: Line, top: int) -> list[Child]:
    kind, glyph = ("replica", "▤") if line.outcome is None else (line.outcome, _GLYPHS.get(line.outcome, "?"))
    return [
        el("rect", x=0, y=top, width=_LABELS, height=_ROW, class_="band named" if line.named else "band"),
        el("text", el("tspan", glyph, class_=f"glyph {kind}"), " ", el("tspan", line.title, class_="who"), x=8, y=top + 13),
        el("text", line.about, x=22, y=top + 25, class_="about"),
    ]


def _line(excerpt: Excerpt, line: Line, lefts: dict[int, int], top: int, width: int) -> list[Child]:
    drawn: list[Child] = [el("rect", x=0, y=top, width=width, height=_ROW, class_="band named" if line.named else "band")]
    for offset, value in line.cells.items():
        drawn += _cell(value, lefts[offset], top, line, value in excerpt.values)
    if line.whole:
        for offset in sorted(excerpt.own - set(line.cells)):
            drawn += _absent(lefts[offset], top)
    if line.sent and not line.cells:
        told = ", ".join(short(value) for value in line.sent[:3])
        why = f" ({line.error})" if line.error else ""
        drawn.append(el("text", f"sent {told}: no offset was told{why}", x=8, y=top + 19, class_="about"))
    return drawn


def _cell(value: int | None, left: int, top: int, line: Line, named: bool) -> list[Child]:
    kind = "replica" if line.outcome is None else line.outcome
    text = "unreadable" if value is None else short(value)
    box = el("rect", x=left + 4, y=top + 3, width=_CELL - 10, height=_ROW - 6, rx=4, class_=f"cell {kind}{' value' if named else ''}")
    title = el("title", f"value {value}" if value is not None else "no value of ours")
    return [el("g", title, box, el("text", text, x=left + _CELL // 2 - 1, y=top + 19, text_anchor="middle"))]


def _absent(left: int, top: int) -> list[Child]:
    box = el("rect", x=left + 4, y=top + 3, width=_CELL - 10, height=_ROW - 6, rx=4, class_="cell absent")
    return [el("g", box, el("text", "absent", x=left + _CELL // 2 - 1, y=top + 19, text_anchor="middle"), class_="absent")]


def _on_circle(radius: float, turn: float) -> tuple[float, float]:
    angle = 2 * math.pi * turn - math.pi / 2
    return radius * math.cos(angle), radius * math.sin(angle)


def _arrow(start: tuple[float, float], end: tuple[float, float], label: str, *, back: bool) -> list[Child]:
    """From one box's edge to the other's, not its middle. Where another leads back, both stand a little aside."""
    (x1, y1), (x2, y2) = start, end
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    aside = 14 if back else 0
    x1, y1, x2, y2 = x1 - dy * aside, y1 + dx * aside, x2 - dy * aside, y2 + dx * aside
    away = min(58 / abs(dx) if abs(dx) > 0.01 else 99.0, 16 / abs(dy) if abs(dy) > 0.01 else 99.0) + 4
    line = f"M{x1 + dx * away:.0f} {y1 + dy * away:.0f} {x2 - dx * away:.0f} {y2 - dy * away:.0f}"
    text = el("text", label, x=round((x1 + x2) / 2), y=round((y1 + y2) / 2 + 4), text_anchor="middle", class_="edge") if label else None
    return [el("path", d=line, class_="arrow", marker_end="url(#tip)"), text]
