"""The page: sections in the order in which people ask, one style sheet, one script, Plotly once, and nothing from anywhere else.

Everything in it is bounded (600 moments a chart, ten witnesses an anomaly, a couple of dozen pictures), so that the report of a long run
opens as fast as that of a short one. A policy in its head forbids the browser to load anything.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from analysis.metrics import Measures
from analysis.report.charts import charts
from analysis.report.found import found
from analysis.report.headline import headline
from analysis.report.html import Html, el, join, raw
from analysis.report.planned import planned
from analysis.report.promised import promised
from analysis.report.reached import reached
from analysis.report.source import Source, source_of
from analysis.report.timeline import timeline
from analysis.verdict import UNKNOWN, Verdict
from harness.history.files import write_atomically

REPORT_FILE = "report.html"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:"


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
    links = [el("a", title, href=f"#{id_}") for id_, title, _ in sections]
    body = el(
        "body",
        el("a", "Skip to the verdict", href="#verdict", class_="skip"),
        _header(source, links),
        el("main", *(section for _, _, section in sections)),
        el("footer", "Made by Highwater. This file needs no network and tells nobody that you read it."),
        raw(_MARKER),
        el("script", raw(_plotly())),
        el("script", raw(_text("script.js"))),
    )
    return "<!doctype html>\n" + el("html", _head(source), body, lang="en")


def _head(source: Source) -> Html:
    valid = source.verdict.valid
    answer = "cannot tell" if valid == UNKNOWN else "kept" if valid else "broken"
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{_title(source)}: {answer}"),
        el("style", raw(_text("style.css"))),
    )


def _header(source: Source, links: list[Html]) -> Html:
    about = str(source.settings.get("description", "")).strip()
    began = source.began.strftime("%d %B %Y, %H:%M UTC") if source.began else None
    return el(
        "header",
        el(
            "div",
            el("p", raw(_MARK), "Highwater", class_="brand"),
            el("button", "Light or dark", type="button", id="theme", class_="theme"),
            class_="top",
        ),
        el("p", el("strong", _title(source)), join(" · ", began) if began else None, join(" · ", source.name), class_="run"),
        el("p", about, class_="about-run") if about else None,
        el("nav", *links, aria_label="Sections"),
        class_="page",
    )


def _title(source: Source) -> str:
    return str(source.settings.get("name", "")) or source.name


def _text(name: str) -> str:
    return (files("analysis.report") / name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script")


_MARK = (
    '<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" class="mark"><path d="M7 3v26M7 6h5M7 12h4M7 18h5M7 24h4"/>'
    '<path d="M13 15c2.5-3 4.5-3 7 0s4.5 3 7 0M13 21c2.5-3 4.5-3 7 0s4.5 3 7 0"/></svg>'
)
_MARKER = (
    '<svg width="0" height="0" aria-hidden="true" class="defs"><defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" '
    'markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" class="tip"/></marker></defs></svg>'
)
