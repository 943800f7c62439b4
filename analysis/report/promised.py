"""What was promised and what was seen: every setting with where it comes from, every anomaly with its ruling, its count and the reason."""

from __future__ import annotations

from analysis.anomalies import ANOMALIES
from analysis.report.html import Child, Html, el
from analysis.report.source import Source
from analysis.report.words import sentence
from analysis.settled import Setting
from analysis.verdict import Verdict

_SOURCES = {"recorded": "recorded with the run", "stated": "stated for this check", "assumed": "assumed: nobody said"}


def promised(source: Source) -> Html:
    verdict = source.verdict
    found = list(verdict.anomalies)
    others = [name for name in ANOMALIES if name not in verdict.anomalies]
    rules = "Jepsen's rules" if verdict.promises.rules == "jepsen" else "Highwater's rules"
    return el(
        "section",
        el("h2", "What was promised, and what was seen", id="promises-title"),
        el(
            "p",
            f"Judged by {rules}. An anomaly is an error only where the settings, and what was done to the cluster, forbid it.",
            class_="lead",
        ),
        el("dl", *(_setting(name, one) for name, one in verdict.promises.settled.settings.items()), class_="settings"),
        _table(verdict, found, "Seen") if found else el("p", "No anomaly of any kind was seen.", class_="calm"),
        el("details", el("summary", f"Looked for and not seen: {len(others)}"), _table(verdict, others, "Not seen")) if others else None,
        id="promises",
        aria_labelledby="promises-title",
    )


def _setting(name: str, setting: Setting) -> Html:
    value = {None: "unknown", True: "yes", False: "no"}.get(setting.value, str(setting.value))  # type: ignore[arg-type]
    value = str(setting.value) if isinstance(setting.value, int) and not isinstance(setting.value, bool) else value
    return el("div", el("dt", name), el("dd", value), el("dd", _SOURCES[setting.source], class_=f"more {setting.source}"))


def _table(verdict: Verdict, names: list[str], caption: str) -> Html:
    head = el("tr", *(el("th", text, scope="col") for text in ("Anomaly", "Seen", "Ruling", "Why")))
    body = [_row(verdict, name) for name in names]
    table = el("table", el("caption", caption, class_="hidden"), el("thead", head), el("tbody", *body))
    return el("div", table, class_="scroll wide", tabindex=0, role="region", aria_label=f"{caption}: anomalies and rulings")


def _row(verdict: Verdict, name: str) -> Html:
    judged, ruling = verdict.anomalies.get(name), verdict.promises.rulings[name]
    title: Child = el("a", name, href=f"#anomaly-{name}") if judged else name
    seen = "—" if judged is None else f"{judged.count:,}" + (f" ({judged.doubtful:,} doubtful)" if judged.doubtful else "")
    if judged and judged.errors:
        status: Child = el("span", "✕ error", class_="tag broken")
    elif judged and ruling.forbidden:
        status = el("span", "all doubtful", class_="tag forbidden")
    elif ruling.forbidden:
        status = el("span", "forbidden", class_="tag forbidden")
    else:
        status = el("span", "allowed", class_="tag allowed")
    return el(
        "tr",
        el("th", title, el("div", ANOMALIES[name].definition, class_="definition"), scope="row"),
        el("td", seen, class_="count"),
        el("td", status),
        el("td", sentence(ruling.reason)),
    )
