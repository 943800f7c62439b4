"""Coverage: which interesting states the run reached, which not, and which nobody could have seen."""

from __future__ import annotations

from analysis.coverage import STATES
from analysis.report.html import Html, el
from analysis.report.source import Source

_GLYPHS = {"reached": "●", "not reached": "○", "not observable": "–"}


def reached(source: Source) -> Html | None:
    coverage = source.verdict.coverage
    if not coverage:
        return None
    counts = {state: sum(one["state"] == state for one in coverage.values()) for state in _GLYPHS}
    told = f"{counts['reached']} of {len(coverage)} states were reached"
    hidden = f"; {counts['not observable']} could not have been seen here." if counts["not observable"] else "."
    return el(
        "section",
        el("h2", "What it got to see", id="coverage-title"),
        el("p", f"A green run in which nothing happened proves little. {told}{hidden}", class_="lead"),
        *(_group(source, state) for state in _GLYPHS if counts[state]),
        id="coverage",
        aria_labelledby="coverage-title",
    )


def _group(source: Source, state: str) -> Html:
    names = [name for name, one in source.verdict.coverage.items() if one["state"] == state]
    title = state[0].upper() + state[1:]
    return el("div", el("h3", f"{title} ({len(names)})"), el("ul", *(_state(source, name, state) for name in names), class_="states"))


def _state(source: Source, name: str, state: str) -> Html:
    known = STATES.get(name)
    times = source.verdict.coverage[name].get("count")
    return el(
        "li",
        el("span", _GLYPHS[state], class_="glyph", aria_hidden="true"),
        el("div", el("strong", name), f" {times:,}×" if times else None, el("p", known.sentence if known else "", class_="definition")),
        class_=state.replace(" ", "-"),
        title=f"Seen in: {known.seen}" if known else None,
    )
