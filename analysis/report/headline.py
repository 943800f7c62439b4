"""The first thing on the page: the verdict in words, what decided it, and the few numbers everybody asks for."""

from __future__ import annotations

from analysis.metrics import LAG
from analysis.report.html import Child, Html, el
from analysis.report.source import Source
from analysis.report.words import count, rate, seconds, sentence
from analysis.verdict import UNKNOWN
from harness.history.beside import UNPROVEN
from harness.history.schema import Function

KEPT = ("kept", "✓", "It kept its promises.")
BROKEN = ("broken", "✕", "It broke a promise.")
CANNOT_TELL = ("unknown", "?", "It cannot be told.")


def headline(source: Source) -> Html:
    kind, glyph, words = CANNOT_TELL if source.verdict.valid == UNKNOWN else KEPT if source.verdict.valid else BROKEN
    return el(
        "section",
        el(
            "div",
            el("span", glyph, class_="seal", aria_hidden="true"),
            el(
                "div", el("h1", words, id="verdict-words"), el("ul", *(el("li", sentence(why)) for why in source.verdict.why), class_="why")
            ),
            class_=f"banner {kind}",
        ),
        el("dl", *_facts(source), class_="facts"),
        id="verdict",
        aria_labelledby="verdict-words",
    )


def _facts(source: Source) -> list[Child]:
    metrics, verdict = source.verdict.metrics, source.verdict
    errors = sum(judged.errors for judged in verdict.anomalies.values())
    seen = sum(judged.count for judged in verdict.anomalies.values())
    latency = source.measures.percentiles(Function.SEND)
    lag = source.measures.percentiles(LAG)
    sends = metrics.get("sends", {})
    facts = [
        ("Acknowledged", f"{source.measures.count(Function.SEND):,}", f"{sends.get('info', 0):,} of unknown outcome"),
        ("Read", f"{source.measures.count(Function.POLL):,}", "messages polled, final reads included"),
        ("Errors", f"{errors:,}", f"{count(seen, 'anomaly', 'anomalies')} seen"),
        ("Rate", rate(metrics.get("acknowledged_per_second", 0.0)), f"acknowledged, acks={metrics.get('acks', '?')}"),
        ("Latency p99", seconds(latency["p99"] / 1e9) if "p99" in latency else "—", f"p50 {_of(latency, 'p50')}"),
        ("Reader lag p99", seconds(lag["p99"] / 1e9) if "p99" in lag else "—", f"p50 {_of(lag, 'p50')}"),
        ("Faults", str(len(source.faults)), _proofs(source)),
        ("Checked by", ", ".join(verdict.checked_by) or "—", "checkers that agree" if len(verdict.checked_by) > 1 else ""),
    ]
    return [el("div", el("dt", name), el("dd", value), el("dd", more, class_="more")) for name, value, more in facts]


def _of(sizes: dict[str, float], name: str) -> str:
    return seconds(sizes[name] / 1e9) if name in sizes else "—"


def _proofs(source: Source) -> str:
    if not source.faults:
        return "none was planned"
    unproven = sum(fault.state == UNPROVEN for fault in source.faults)
    return f"{unproven} without proof" if unproven else "each with its proof"
