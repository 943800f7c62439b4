"""The page: sections in the order in which people ask.

Everything in it is bounded (600 moments a chart, ten witnesses an anomaly, a couple of dozen pictures), so that the report of a long run
opens as fast as that of a short one.
"""

from __future__ import annotations

from pathlib import Path

from analysis.metrics import Measures
from analysis.report.charts import charts
from analysis.report.found import found
from analysis.report.frame import document
from analysis.report.headline import headline
from analysis.report.html import Html, el, join
from analysis.report.planned import planned
from analysis.report.promised import promised
from analysis.report.reached import reached
from analysis.report.source import Source, source_of
from analysis.report.timeline import timeline
from analysis.verdict import UNKNOWN, Verdict
from harness.history.files import write_atomically

REPORT_FILE = "report.html"


def write_report(run: Path, verdict: Verdict, measures: Measures, *, name: str | None = None, to: Path | None = None) -> Path:
    """`run` has the history, its plan and what lies beside it, as far as there is any. `to` is where the report goes, if not into it."""
    path = to or run / REPORT_FILE
    write_atomically(path, page(source_of(run, verdict, measures, name)).encode())
    return path


def page(source: Source) -> str:
    sections = [
        (id_, title, section)
        for id_, title, section in (
            ("verdict", "Verdict", headline(source)),
            ("promises", "Promises", promised(source)),
            ("anomalies", "Anomalies", found(source)),
            ("charts", "Charts", charts(source)),
            ("faults", "Faults", timeline(source)),
            ("coverage", "Coverage", reached(source)),
            ("plan", "Plan", planned(source)),
        )
        if section is not None
    ]
    return document(f"{_title(source)}: {_answer(source)}", _intro(source), sections, skip="Skip to the verdict")


def _answer(source: Source) -> str:
    valid = source.verdict.valid
    return "cannot tell" if valid == UNKNOWN else "kept" if valid else "broken"


def _intro(source: Source) -> list[Html]:
    about = str(source.settings.get("description", "")).strip()
    began = source.began.strftime("%d %B %Y, %H:%M UTC") if source.began else None
    run = el("p", el("strong", _title(source)), join(" · ", began) if began else None, join(" · ", source.name), class_="run")
    return [run, *([el("p", about, class_="about-run")] if about else [])]


def _title(source: Source) -> str:
    return str(source.settings.get("name", "")) or source.name
