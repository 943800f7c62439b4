"""A night in Markdown: what a build server shows on its page, failures first."""

from __future__ import annotations

from collections.abc import Sequence

from harness.nightly.agenda import Planned
from harness.nightly.ledger import Entry

_SIGNS = {"passed": "✅", "failed": "❌", "cannot tell": "❔", "error": "⚠️"}


def markdown(night: str, entries: Sequence[Entry], passed_over: Sequence[Planned]) -> str:
    counts = {outcome: sum(entry.outcome == outcome for entry in entries) for outcome in _SIGNS}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "nothing was run"
    lines = [f"# Highwater, night of {night}", "", f"{told}; {sum(entry.seconds for entry in entries) / 60:.0f} minutes.", ""]
    for entry in entries:
        if entry.outcome != "passed":
            lines += [f"## {_SIGNS[entry.outcome]} {entry.case}, seed {entry.seed}", "", _escaped(entry.why), ""]
            lines += [f"> {_escaped(entry.first_witness)}", ""] if entry.first_witness else []
            lines += ["Again:", "", f"    {entry.command}", ""]
    if entries:
        lines += ["| | run | seed | seconds | service back after |", "|---|---|---|---|---|"]
        lines += [
            f"| {_SIGNS[entry.outcome]} | {entry.case} | {entry.seed} | {entry.seconds:.0f} | {_recovery(entry)} |" for entry in entries
        ]
        lines += [""]
    never = sorted(set.intersection(*(set(entry.never_reached) for entry in entries))) if entries else []
    if never:
        lines += [f"Never reached this night: {', '.join(never)}.", ""]
    if passed_over:
        lines += [f"No time was left for {len(passed_over)}: {', '.join(sorted({planned.case.key for planned in passed_over}))}.", ""]
    return "\n".join(lines)


def _recovery(entry: Entry) -> str:
    return "" if entry.recovery_s is None else f"{entry.recovery_s:.1f} s"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
