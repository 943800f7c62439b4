"""HTML and SVG from Python: elements as function calls, every text escaped unless it came out of one.

Names of topics, errors and nodes come from outside, and a report is passed around: so text is text unless its type says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_EMPTY = {"br", "hr", "img", "input", "link", "meta", "rect", "line", "path", "circle"}


class Html(str):
    """Markup that is safe as it is. Only `el`, `join` and `raw` make it."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def el(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """`class_`, `aria_label`, `data_x`: a trailing underscore goes, others become hyphens. None and False leave the attribute out."""
    found = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY and not children:
        return Html(f"<{name}{found}/>" if name in ("rect", "line", "path", "circle") else f"<{name}{found}>")
    return Html(f"<{name}{found}>{join(children)}</{name}>")


def join(*children: Child) -> Html:
    return Html("".join(_text(child) for child in children))


def raw(text: str) -> Html:
    """For our own style sheet and scripts, never for anything that was read."""
    return Html(text)


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return str(child)
    if isinstance(child, str | int | float):
        return escape(str(child))
    return "".join(_text(one) for one in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
