"""Numbers and times as people read them."""

from __future__ import annotations

import re

from analysis.report.html import Child, Html, el, join

_WORKER_BITS = 40
_SPECIAL = re.compile(r"`([^`]+)`|\b\d{13,19}\b")


def short(number: int) -> str:
    """Values and operations count up from a worker's first number: 1099511627783 is `1·7`, the seventh of worker 1."""
    worker, counter = number >> _WORKER_BITS, number & ((1 << _WORKER_BITS) - 1)
    return f"{worker}·{counter}" if 0 < worker < 2**22 else str(number)


def sentence(text: str) -> Html:
    """Long numbers in it shortened, each whole in its title; what is in backquotes set as code."""
    parts: list[Child] = []
    end = 0
    for match in _SPECIAL.finditer(text):
        parts += [text[end : match.start()], el("code", match[1]) if match[1] else number(int(match[0]))]
        end = match.end()
    return join(parts, text[end:])


def number(value: int) -> Html:
    return el("abbr", short(value), class_="number", title=str(value)) if short(value) != str(value) else join(str(value))


def count(value: int, noun: str, plural: str | None = None) -> str:
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def seconds(value: float | None) -> str:
    """With three digits that mean something."""
    if value is None:
        return "—"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 * size else f"{value / size:,.0f} {unit}"
    return "0 s" if not value else f"{value / 1e-9:.3g} ns"


def at(ns: int | None) -> str:
    return "—" if ns is None else f"{ns / 1e9:.3f} s"


def rate(value: float) -> str:
    return f"{value:,.0f}/s" if value >= 100 else f"{value:.3g}/s"
