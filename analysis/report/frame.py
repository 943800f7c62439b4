"""What every page of ours is framed by: one style sheet, one script, Plotly once, and nothing from anywhere else.

A policy in the head forbids the browser to load anything. The script draws the figures that lie in the page as JSON under the id
`figures`, each into the element `chart-NAME` inside the section `charts`, and lets the reader choose between light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from analysis.report.html import Child, Html, el, raw

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; font-src data:"
Section = tuple[str, str, Html]
"""Its id, its name in the navigation, itself."""


def document(title: str, intro: Sequence[Child], sections: Sequence[Section], *, skip: str) -> str:
    """`intro`: what stands above the navigation. `skip`: the words of the link to the first section for those who cannot see."""
    links = [el("a", name, href=f"#{id_}") for id_, name, _ in sections]
    body = el(
        "body",
        el("a", skip, href=f"#{sections[0][0]}", class_="skip"),
        el("header", _top(), *intro, el("nav", *links, aria_label="Sections"), class_="page"),
        el("main", *(section for _, _, section in sections)),
        el("footer", "Made by Highwater. This file needs no network and tells nobody that you read it."),
        raw(_MARKER),
        el("script", raw(_plotly())),
        el("script", raw(_text("script.js"))),
    )
    return "<!doctype html>\n" + el("html", _head(title), body, lang="en")


def _head(title: str) -> Html:
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", raw(_text("style.css"))),
    )


def _top() -> Html:
    return el(
        "div",
        el("p", raw(_MARK), "Highwater", class_="brand"),
        el("button", "Light or dark", type="button", id="theme", class_="theme"),
        class_="top",
    )


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
