"""One line of a foreign history as this package sees it, whichever notation it came in.

Keys are named by their text, because JSON turns every key of a map into a string: 5, "5" and :5 are one key. A whole number is a
partition of the topic `jepsen`; every other key is a topic of its own, so names are kept and nobody has to number keys over
the whole file. A value that is no int64 becomes a number by its text, the same wherever it is met, in a range that real values do not use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from analysis.jepsen.edn import Keyword, Map, Symbol, Tagged

TOPIC = "jepsen"
_LOWEST, _HIGHEST = -(2**63) + 1, 2**63 - 1
_LONGEST_ERROR = 80
_PART = re.compile(r"0|[1-9]\d{0,9}")

Place = tuple[str, int]


class Malformed(Exception):
    """A line that is no operation."""


@dataclass(frozen=True, slots=True)
class ForeignOp:
    """`process` is None for the nemesis and whoever else is no client. `time` is None where it is missing."""

    process: int | None
    type: str
    f: str
    value: Any
    time: int | None
    error: str | None
    rebalanced: tuple[Any, ...]


def parse_op(form: Any) -> ForeignOp:
    """From what the JSON or EDN reader gave."""
    if isinstance(form, Tagged):
        form = form.form
    if not isinstance(form, dict | Map):
        raise Malformed("is not an operation: no map")
    found = {text_of(key): value for key, value in pairs_of(form)}
    if "process" not in found or "type" not in found:
        raise Malformed(f"is not an operation: it has no {'process' if 'process' not in found else 'type'}")
    process, time = found["process"], found.get("time")
    if is_int(process) and not 0 <= process < 2**31:
        raise Malformed(f"has the process {process}, which is not between 0 and 2^31")
    if time is not None and not (is_int(time) and abs(time) < 2**62):
        raise Malformed("has a time that is no whole number of nanoseconds")
    error = found.get("error")
    return ForeignOp(
        process if is_int(process) else None,
        text_of(found["type"]),
        text_of(found.get("f")),
        found.get("value"),
        time,
        None if error is None else text_of(error)[:_LONGEST_ERROR],
        _rebalanced(found.get("rebalance-log")),
    )


def place_of(key: Any) -> Place:
    """Topic and partition that stand for a key."""
    name = text_of(key)
    if _PART.fullmatch(name) and int(name) < 2**31:
        return TOPIC, int(name)
    return f"{TOPIC}/{name}", 0


def number_of(value: Any) -> int:
    """A value as an int64 that is not the one for null."""
    if is_int(value) and _LOWEST // 2 <= value <= _HIGHEST:
        return int(value)
    digest = int.from_bytes(blake2b(text_of(value).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return _LOWEST + digest % 2**61


def text_of(value: Any) -> str:
    """The same for what means the same in both notations."""
    if isinstance(value, str):
        return value
    if isinstance(value, Keyword | Symbol):
        return value.name
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Tagged):
        return f"#{value.tag} {text_of(value.form)}"
    if isinstance(value, dict | Map):
        return "{" + ", ".join(f"{text_of(key)} {text_of(inner)}" for key, inner in pairs_of(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(text_of, value)) + "]"
    return str(value)


def pairs_of(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Map):
        return value.pairs
    if isinstance(value, dict):
        return value.items()
    raise Malformed(f"has {_short(value)} where a map belongs")


def items_of(value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    raise Malformed(f"has {_short(value)} where a list belongs")


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _rebalanced(log: Any) -> tuple[Any, ...]:
    """Keys whose assignment changed during the operation."""
    if log is None:
        return ()
    entries = [{text_of(key): value for key, value in pairs_of(entry)} for entry in items_of(log)]
    return tuple(key for entry in entries for key in items_of(entry.get("keys") or ()))


def _short(value: Any) -> str:
    text = text_of(value)
    return f"`{text}`" if len(text) <= 40 else f"`{text[:40]}…`"
