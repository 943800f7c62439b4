"""The faults: a lane for each kind on one axis of time, and below, each fault with what proved it and what proved it healed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analysis.circumstances import kind_of
from analysis.report.html import Html, el
from analysis.report.source import Source
from analysis.report.words import at, seconds
from analysis.service import Effect, effects
from harness.history.beside import COVERED, PROVEN, Fault

_GLYPHS = {PROVEN: "✓", COVERED: "◐"}
_TICKS = 6


def timeline(source: Source) -> Html:
    return el(
        "section",
        el("h2", "What was done to it", id="faults-title"),
        _body(source) if source.faults else el("p", "No fault was planned: this is how it behaves in calm.", class_="calm"),
        id="faults",
        aria_labelledby="faults-title",
    )


def _body(source: Source) -> list[Html]:
    found = {effect.fault: effect for effect in effects(source.faults, source.measures.gaps)}
    return [_lanes(source), el("ol", *(_fault(fault, found.get(fault.id)) for fault in source.faults), class_="faults")]


def _lanes(source: Source) -> Html:
    length = _length(source)
    kinds = list(dict.fromkeys(kind_of(fault) for fault in source.faults))
    lanes = [_lane(kind, [fault for fault in source.faults if kind_of(fault) == kind], length) for kind in kinds]
    step = _step(length)
    ticks = [step * place for place in range(int(length / step) + 1)]
    axis = el(
        "div", *(el("span", f"{tick:g} s", style=f"left:{100 * tick / length:.2f}%") for tick in ticks), class_="axis", aria_hidden="true"
    )
    return el("div", *lanes, el("div", el("span", "", class_="kind"), axis, class_="lane"), class_="lanes")


def _lane(kind: str, faults: list[Fault], length: float) -> Html:
    bars = [_bar(fault, length) for fault in faults if fault.start is not None]
    return el("div", el("span", kind, class_="kind"), el("div", *bars, class_="track"), class_="lane")


def _bar(fault: Fault, length: float) -> Html:
    start = (fault.start or 0) / 1e9
    end = length if fault.end is None else fault.end / 1e9
    where = f"left:{100 * start / length:.2f}%;width:{max(100 * (end - start) / length, 0.4):.2f}%"
    told = f"Fault {fault.id}, {fault.fault} of {', '.join(fault.targets)}: {start:.1f} to {end:.1f} s, {fault.state}"
    return el("a", str(fault.id), href=f"#fault-{fault.id}", class_=f"bar {_class(fault)}", style=where, title=told, aria_label=told)


def _fault(fault: Fault, effect: Effect | None) -> Html:
    length = None if fault.start is None or fault.end is None else (fault.end - fault.start) / 1e9
    told = f"from {at(fault.start)} for {seconds(length)}" if fault.start is not None else "struck nobody"
    facts = [
        el("strong", fault.fault),
        f" on {', '.join(fault.targets) or 'nobody'} ({fault.selector}), {told} ",
        el("span", f"{_GLYPHS.get(fault.state, '✕')} {fault.state}", class_=f"tag {_class(fault)}"),
    ]
    return el(
        "li",
        el("p", *facts),
        _effect(effect) if effect else None,
        el("details", el("summary", "Proofs"), _proof("It took place", fault.proof), _proof("It is over", fault.healed)),
        id=f"fault-{fault.id}",
        value=fault.id,
        tabindex=-1,
    )


def _effect(effect: Effect) -> Html:
    if not effect.partitions:
        return el("p", "Every partition that was written to kept acknowledging.", class_="effect")
    if effect.recovery is None:
        recovery = "service had not returned when the history ended"
    elif effect.recovery == 0:
        recovery = "all had it again before its end"
    else:
        others = f", with other faults at work ({', '.join(map(str, effect.meanwhile))})" if effect.meanwhile else ""
        recovery = f"all had it again {seconds(effect.recovery / 1e9)} after its end{others}"
    partitions = "1 partition" if effect.partitions == 1 else f"{effect.partitions} partitions"
    return el("p", f"{partitions} without service, at most for {seconds(effect.unavailable / 1e9)}; {recovery}.", class_="effect")


def _proof(title: str, text: str | None) -> Html:
    return el("div", el("h4", title), el("pre", _pretty(text), tabindex=0))


def _pretty(text: str | None) -> str:
    if text is None:
        return "nothing was measured"
    try:
        found: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return text
    return json.dumps(found, indent=2, ensure_ascii=False)


def _class(fault: Fault) -> str:
    return {PROVEN: "proven", COVERED: "covered"}.get(fault.state, "unproven")


def _length(source: Source) -> float:
    """Of the axis, in seconds: until the last fault's end, or the history's."""
    ends = [(fault.end or fault.start or fault.planned) / 1e9 for fault in source.faults]
    return max([*ends, source.measures.cells.bounds[1] / 1e9, 1.0])


def _step(length: float) -> float:
    """Between two ticks: 1, 2 or 5 times a power of ten."""
    for power in range(-1, 9):
        for digit in (1, 2, 5):
            if length / (digit * 10**power) <= _TICKS:
                return float(digit * 10**power)
    return length
