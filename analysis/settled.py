"""What was promised, settled: recorded with the history, stated by whoever asks, or assumed because nobody said.

A verdict rests on these, so each carries where it comes from. A foreign history has no settings: it is judged as acks=all with clean
election, while idempotence and requests in flight stay unknown (None), which promises nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.history.plan import Promises, parse_promises

Source = Literal["recorded", "stated", "assumed"]
Value = str | int | bool | None

ASSUMED: Mapping[str, Value] = {
    "acks": "all",
    "replicas": None,
    "min_insync": 1,
    "unclean": False,
    "flush": False,
    "idempotence": None,
    "in_flight": None,
    "isolation": "read_committed",
    "assignment": "assign",
    "progress": False,
}


@dataclass(frozen=True, slots=True)
class Setting:
    value: Value
    source: Source


@dataclass(frozen=True, slots=True)
class Settled:
    """Every promise by name, in the order of `Promises`."""

    settings: Mapping[str, Setting]

    def __getitem__(self, name: str) -> Value:
        return self.settings[name].value

    def number(self, name: str) -> int:
        value = self[name]
        assert isinstance(value, int), f"{name} is a number or assumed to be one"
        return value

    def source(self, name: str) -> Source:
        return self.settings[name].source


def settle(recorded: Promises | None, stated: Promises | None = None, operations: Collection[str] = ()) -> Settled:
    """Stated goes before recorded. Where nobody said how clients get their partitions, their operations tell."""
    assumed = dict(ASSUMED) | ({"assignment": "subscribe"} if "subscribe" in operations else {})
    sources: tuple[tuple[Source, Mapping[str, Value]], ...] = (
        ("stated", asdict(stated or Promises())),
        ("recorded", asdict(recorded or Promises())),
    )
    found = {}
    for name, otherwise in assumed.items():
        said = ((source, values[name]) for source, values in sources if values[name] is not None)
        source, value = next(said, ("assumed", otherwise))
        found[name] = Setting(value, source)
    return Settled(found)


def parse_stated(texts: Iterable[str]) -> Promises:
    """Each `name=value`, as `--promise` has it. ValueError says what is wrong and what is allowed."""
    content: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text!r} is no promise; one is name=value, as unclean=false")
        content[name.strip()] = _typed(name.strip(), value.strip())
    return parse_promises(content)


def _typed(name: str, text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() and name != "acks" else text
