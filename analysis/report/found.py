"""Each anomaly with its witnesses, told in sentences; the first of them with a picture.

Pictures are for the first few witnesses of each anomaly, errors before the rest, so that a report of a thousand losses is no larger than
one of ten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa  # type: ignore[import-untyped]

from analysis.anomalies import ANOMALIES
from analysis.findings import Witness
from analysis.report.excerpt import Excerpt, excerpts
from analysis.report.html import Child, Html, el
from analysis.report.pictures import Step, cycle_picture, log_picture
from analysis.report.source import Source
from analysis.report.words import count, number, sentence
from analysis.verdict import Judged
from harness.history.errors import HistoryError

PICTURES_OF_ONE = 3
PICTURES = 24
_RELATIONS = "ww: stored before; wr: read by; rw: did not see; time: over before the other began."
_STEP = re.compile(r"T(\d+) is before T(\d+), because (.*?)(?=; T\d+ is before|: a contradiction)")
_BECAUSE = {"is followed by": "ww", "polled its value": "wr", "was told that": "rw", "was over at": "time"}


def found(source: Source) -> Html | None:
    anomalies = source.verdict.anomalies
    if not anomalies:
        return None
    drawn = _drawn(source, _to_draw(anomalies))
    return el(
        "section",
        el("h2", "What was seen", id="anomalies-title"),
        *(_anomaly(name, judged, drawn) for name, judged in anomalies.items()),
        id="anomalies",
        aria_labelledby="anomalies-title",
    )


def _drawn(source: Source, witnesses: list[Witness]) -> dict[Witness, Excerpt]:
    """None where rows cannot be read again: the sentences stand alone then."""
    try:
        return excerpts(source.run, source.history, witnesses) if source.history else {}
    except (HistoryError, pa.ArrowException, OSError):
        return {}


def _to_draw(anomalies: Mapping[str, Judged]) -> list[Witness]:
    chosen = [witness for name, judged in anomalies.items() if not ANOMALIES[name].across for witness in judged.witnesses[:PICTURES_OF_ONE]]
    return chosen[:PICTURES]


def _anomaly(name: str, judged: Judged, drawn: Mapping[Witness, Excerpt]) -> Html:
    kind, words = ("broken", "✕ error") if judged.errors else ("allowed", "allowed" if not judged.forbidden else "doubtful")
    shown = len(judged.witnesses)
    left = f", {shown} of them shown" if shown < judged.count else ""
    doubtful = (
        f" {judged.doubtful:,} of them are doubtful: they rest on an unknown outcome, or on the client's own doing."
        if judged.doubtful
        else ""
    )
    return el(
        "article",
        el(
            "header",
            el("h3", name),
            el("span", words, class_=f"tag {kind}"),
            el("span", count(judged.count, "time") + left, class_="times"),
        ),
        el("p", ANOMALIES[name].definition[0].upper() + ANOMALIES[name].definition[1:] + ".", class_="definition"),
        el("p", sentence(judged.reason + doubtful), class_="reason"),
        el("ol", *(_witness(name, witness, drawn.get(witness)) for witness in judged.witnesses), class_="witnesses"),
        class_=f"anomaly {kind}",
        id=f"anomaly-{name}",
    )


def _witness(name: str, witness: Witness, excerpt: Excerpt | None) -> Html:
    place = f"{witness.topic}-{witness.part}" + (f" at {witness.offset}" if witness.offset is not None else "") if witness.topic else None
    ops: list[Child] = [el("span", "op ", number(op)) for op in witness.ops[:8]]
    more = f"and {len(witness.ops) - 8} more" if len(witness.ops) > 8 else None
    marks = el("p", el("span", place, class_="place") if place else None, *ops, more, class_="marks") if place or ops else None
    doubt = el("span", "doubtful", class_="tag allowed") if witness.doubtful else None
    return el("li", el("p", sentence(witness.sentence), " ", doubt, class_="sentence"), marks, _picture(name, witness, excerpt))


def _picture(name: str, witness: Witness, excerpt: Excerpt | None) -> Html | None:
    if excerpt is not None:
        return el("figure", log_picture(excerpt, witness.sentence), el("figcaption", _caption(excerpt)))
    if ANOMALIES[name].family == "cycles" and 2 <= len(witness.ops) <= 8:
        return el("figure", cycle_picture(witness.ops, steps_of(witness), witness.sentence), el("figcaption", _RELATIONS))
    return None


def steps_of(witness: Witness) -> list[Step]:
    """From which operation to which, and why, read from the sentence; where it says nothing, round in their order."""
    count = len(witness.ops)
    steps = [(int(before) - 1, int(after) - 1, _relation(why)) for before, after, why in _STEP.findall(witness.sentence)]
    if steps and all(before < count and after < count for before, after, _ in steps):
        return steps
    return [(place, (place + 1) % count, "") for place in range(count)]


def _relation(why: str) -> str:
    return next((name for words, name in _BECAUSE.items() if words in why), "")


def _caption(excerpt: Excerpt) -> Html:
    conflict = " Columns marked “conflict” have more than one value." if excerpt.conflicts else ""
    return el(
        "span", f"{excerpt.topic}-{excerpt.part}: offsets across, replicas and operations down; framed are the witness's values.{conflict}"
    )
