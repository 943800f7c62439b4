"""A verdict as a person reads it on a terminal: the answer first, then what it rests on, then what was seen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.verdict import Judged, Verdict

WIDTH = 140
WITNESSES = 3
_ANSWERS = {True: "KEPT ITS PROMISES", False: "BROKE A PROMISE", "unknown": "CANNOT TELL"}


def summary(path: Path, verdict: Verdict) -> str:
    return "\n".join([f"{_ANSWERS[verdict.valid]}: {path}", *_body(verdict), *_report(path)])


def _body(verdict: Verdict) -> Iterator[str]:
    for sentence in verdict.why:
        yield from _wrapped(sentence, "  ")
    yield from _wrapped(f"promised ({verdict.promises.rules} rules): {_promised(verdict)}", "  ")
    for name, judged in verdict.anomalies.items():
        yield from _anomaly(name, judged)
    if not verdict.anomalies:
        yield "  no anomaly was seen"
    yield from _service(verdict.metrics.get("faults", ()))
    if verdict.checked_by:
        yield f"  checked by {' and '.join(verdict.checked_by)}"


def _promised(verdict: Verdict) -> str:
    told = {name: one for name, one in verdict.promises.settled.settings.items() if one.value is not None}
    return ", ".join(f"{name}={_plain(one.value)}" + ("" if one.source == "recorded" else f" ({one.source})") for name, one in told.items())


def _anomaly(name: str, judged: Judged) -> Iterator[str]:
    """Witnesses prove errors; what is none is told in a line, and the report shows more of it."""
    doubtful = f", {judged.doubtful:,} of them in doubt" if judged.doubtful else ""
    ruling = "an error" if judged.errors else f"no error: {judged.reason}"
    yield from _wrapped(f"{name}: {judged.count:,}{doubtful}, {ruling}", "  ")
    if not judged.errors:
        return
    for witness in judged.witnesses[:WITNESSES]:
        yield from _wrapped(witness.sentence, "      ")
    if judged.count > WITNESSES:
        yield f"      and {judged.count - min(WITNESSES, len(judged.witnesses)):,} more"


def _service(effects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How long a fault's end was ahead of the service's return, at worst. What others did meanwhile is not this one's doing."""
    ended = [effect for effect in effects if effect["recovery"] is not None]
    undisturbed = [effect for effect in ended if not effect["meanwhile"]]
    if ended:
        worst = max(ended, key=lambda effect: float(effect["recovery"]))
        alone = (
            f"; at most {max(effect['recovery'] for effect in undisturbed):.1f} s where no other fault came between" if undisturbed else ""
        )
        yield f"  service was back at most {worst['recovery']:.1f} s after a fault's end (fault {worst['id']}){alone}"


def _report(path: Path) -> Iterator[str]:
    if path.is_dir() and (path / "report.html").exists():
        yield f"  report: {path / 'report.html'}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
