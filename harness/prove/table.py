"""The campaign as a table: Markdown for a README, HTML for people, JSON for machines; the rates as they were found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from html import escape

from harness.prove.attempts import SOUND, Attempt, Attempts
from harness.prove.defects import Defect

HEAD = ("defect", "where", "faults", "caught", "by", "after", "it took")
_SOUND_TITLE = "the sound broker"
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{border-bottom:1px solid #8884;padding:.35rem .7rem;text-align:left;vertical-align:top}"
    "div{overflow-x:auto}.escaped{color:#c62828;font-weight:700}@media(prefers-color-scheme:dark){.escaped{color:#ff7b72}}"
)


def rows(defects: Sequence[Defect], attempts: Attempts) -> list[tuple[str, ...]]:
    """One a defect that was tried, and the sound broker last."""
    found = [_row(defect.title, attempts.of(defect.name)) for defect in defects if attempts.of(defect.name)]
    sound = attempts.of(SOUND)
    if sound:
        cycles = sum(attempt.cycles for attempt in sound)
        accused = sum(attempt.caught for attempt in sound)
        found.append((_SOUND_TITLE, "", "all of them", f"{accused} of {len(sound)}", "", "", f"{cycles} cycles"))
    return found


def markdown(defects: Sequence[Defect], attempts: Attempts) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *rows(defects, attempts)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def html(defects: Sequence[Defect], attempts: Attempts) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in HEAD)
    body = "".join("<tr>" + "".join(_cell(cell, line[0] != _SOUND_TITLE) for cell in line) + "</tr>" for line in rows(defects, attempts))
    told = "".join(_witness(attempt) for defect in defects for attempt in attempts.of(defect.name) if attempt.caught)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Highwater: what was caught</title><style>{_STYLE}</style></head><body><h1>Broken brokers, and what caught them</h1>"
        f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f"<h2>First witnesses</h2><ul>{told}</ul></body></html>\n"
    )


def as_json(attempts: Attempts) -> str:
    return json.dumps([asdict(attempt) for attempt in attempts.made.values()], indent=1) + "\n"


def _row(title: str, made: Sequence[Attempt]) -> tuple[str, ...]:
    caught = [attempt for attempt in made if attempt.caught]
    seconds = sorted(attempt.seconds for attempt in caught)
    after = f"{seconds[len(seconds) // 2]:.0f} s" if seconds else ""
    by = ", ".join(dict.fromkeys(attempt.by for attempt in caught))
    took = caught[0].tried if caught else made[0].tried
    return title, made[0].arm, made[0].plan, f"{len(caught)} of {len(made)}", by, after, took


def _cell(text: str, is_defect: bool) -> str:
    bad = text.startswith("0 of ") == is_defect and " of " in text and text[0].isdigit()
    return f'<td class="escaped">{escape(text)}</td>' if bad else f"<td>{escape(text)}</td>"


def _witness(attempt: Attempt) -> str:
    again = f"<br><code>./highwater run --again {escape(attempt.folder)}</code>" if attempt.folder else ""
    return f"<li><strong>{escape(attempt.defect)}</strong>, seed {attempt.seed}: {escape(attempt.witness)}{again}</li>"
