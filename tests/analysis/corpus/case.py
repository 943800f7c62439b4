"""One hand-made history: a function that tells a `Story`, its one-sentence docstring, and what it is about.

`has(name)`: the anomaly is in it. `lacks(name)`: a twin, nearly the same, without it. `legal`: a sound system behaves like this, and it
looks like a bug. Whatever else there is to find in the history is expected by the story too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from analysis.anomalies import ANOMALIES
from tests.analysis.corpus.story import BOTH, Expected, Rules, Story

Tell = Callable[[], Story]

ALL: list[Case] = []


@dataclass(frozen=True, slots=True)
class Case:
    """`anomaly` is none where the case is about legal behaviour."""

    name: str
    about: str
    anomaly: str | None
    has: bool
    tell: Tell

    def write(self, run: Path) -> dict[Rules, Expected]:
        """Make the folder of the run; what is to be found in it, by each set of rules."""
        story = self.tell()
        story.write(run)
        return story.expected

    def __str__(self) -> str:
        return self.name


def has(anomaly: str) -> Callable[[Tell], Tell]:
    return lambda tell: _add(tell, anomaly, True)


def lacks(anomaly: str) -> Callable[[Tell], Tell]:
    return lambda tell: _add(tell, anomaly, False)


def legal(tell: Tell) -> Tell:
    return _add(tell, None, False)


def _add(tell: Tell, anomaly: str | None, present: bool) -> Tell:
    assert anomaly is None or anomaly in ANOMALIES, f"there is no anomaly {anomaly}"
    about = (tell.__doc__ or "").strip()
    name = tell.__name__.replace("_", "-")
    assert about.endswith(".") and "\n" not in about, f"{name} is told in one sentence"
    assert all(case.name != name for case in ALL), f"there are two histories called {name}"
    case = Case(name, about, anomaly, present, tell)
    expected = tell().expected
    assert anomaly is None or any((anomaly in expected[rules].found) == present for rules in BOTH), f"{name} expects what it is about"
    ALL.append(case)
    return tell
