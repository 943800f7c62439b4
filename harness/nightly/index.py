"""The nights at a glance: one page with a row a case and a column a night, made anew from the ledger after every run.

No script and nothing to fetch: it opens from a file share or as an artefact of a build. An outcome is a letter as well as a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.nightly.ledger import Entry, Ledger

NIGHTS_SHOWN = 30
_LETTERS = {"passed": "P", "failed": "F", "cannot tell": "?", "error": "E"}
_WORST = ("failed", "error", "cannot tell", "passed")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #c62828; --doubt: #8a6100; }
@media (prefers-color-scheme: dark) { :root { --good: #57d178; --bad: #ff7b72; --doubt: #e3b341; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; white-space: nowrap; }
thead th { font-weight: 600; font-size: .85rem; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.night { text-align: center; font-weight: 700; } td.night a { color: inherit; text-decoration: none; }
.passed { color: var(--good); } .failed, .error { color: var(--bad); } .doubt { color: var(--doubt); }
code { font-size: .85rem; } .quiet { opacity: .7; }
"""


def index_page(ledger: Ledger) -> str:
    nights = ledger.nights()[-NIGHTS_SHOWN:]
    shown = [entry for entry in ledger.entries if entry.night in nights]
    body = [_headline(shown, nights), _table(shown, nights), _failures(shown), _coverage(shown)]
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Highwater nights</title><style>{_STYLE}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _headline(entries: Sequence[Entry], nights: Sequence[str]) -> str:
    if not entries:
        return "<h1>Highwater nights</h1><p>No night has been run yet.</p>"
    last = [entry for entry in entries if entry.night == nights[-1]]
    passed = sum(entry.outcome == "passed" for entry in last)
    rate = sum(entry.outcome == "passed" for entry in entries) / len(entries)
    return (
        f"<h1>Highwater nights</h1><p>Last night, {escape(nights[-1])}: {passed} of {len(last)} runs passed. "
        f'<span class="quiet">{len(nights)} nights, {rate:.0%} of {len(entries)} runs passed. '
        "P passed, F failed, ? cannot tell, E error.</span></p>"
    )


def _table(entries: Sequence[Entry], nights: Sequence[str]) -> str:
    if not entries:
        return ""
    cases = sorted({entry.case for entry in entries})
    head = "".join(f"<th>{escape(night[5:])}</th>" for night in nights)
    rows = "".join(_row(case, [entry for entry in entries if entry.case == case], nights) for case in cases)
    titles = "<th>run</th><th>passed</th><th>service back after (median)</th>"
    return f'<div class="wide"><table><thead><tr>{titles}{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(case: str, entries: Sequence[Entry], nights: Sequence[str]) -> str:
    recoveries = sorted(entry.recovery_s for entry in entries if entry.recovery_s is not None)
    recovery = f"{recoveries[len(recoveries) // 2]:.1f} s" if recoveries else ""
    rate = f"{sum(entry.outcome == 'passed' for entry in entries)} of {len(entries)}"
    cells = "".join(_cell([entry for entry in entries if entry.night == night]) for night in nights)
    return f'<tr><td>{escape(case)}</td><td class="number">{rate}</td><td class="number">{recovery}</td>{cells}</tr>'


def _cell(entries: Sequence[Entry]) -> str:
    """The worst of a night stands for it."""
    if not entries:
        return "<td></td>"
    worst = min(entries, key=lambda entry: _WORST.index(entry.outcome))
    kind = "doubt" if worst.outcome == "cannot tell" else worst.outcome
    title = escape(f"{worst.outcome}, seed {worst.seed}: {worst.why}" if worst.why else f"{worst.outcome}, seed {worst.seed}")
    return f'<td class="night {kind}" title="{title}">{_LETTERS[worst.outcome]}</td>'


def _failures(entries: Sequence[Entry]) -> str:
    bad = [entry for entry in reversed(entries) if entry.outcome != "passed"][:20]
    items = "".join(
        f"<li><strong>{escape(entry.case)}</strong>, {escape(entry.night)}, seed {entry.seed}: {escape(entry.why)}"
        f"<br>{escape(entry.first_witness)}<br><code>{escape(entry.command)}</code></li>"
        for entry in bad
    )
    return f"<h2>What did not pass, the newest first</h2><ul>{items}</ul>" if bad else ""


def _coverage(entries: Sequence[Entry]) -> str:
    reached = {
        state: sum(state in entry.reached for entry in entries) for entry in entries for state in (*entry.reached, *entry.never_reached)
    }
    if not reached:
        return ""
    rows = "".join(
        f'<tr><td>{escape(state)}</td><td class="number">{count or "never"}</td></tr>'
        for state, count in sorted(reached.items(), key=lambda item: item[1])
    )
    head = "<thead><tr><th>state</th><th>runs that reached it</th></tr></thead>"
    return f"<h2>States reached</h2><div class='wide'><table>{head}<tbody>{rows}</tbody></table></div>"
