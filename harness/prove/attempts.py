"""What came of trying to catch one broker with one seed, kept as a line of JSON each, so that a campaign can go on later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

SOUND = "sound"
"""The name under which the broker without a defect is tried, once a plan and seed."""
FILE = "attempts.jsonl"


@dataclass(frozen=True, slots=True)
class Attempt:
    """`by`: the anomaly, or the words of an arm without a cluster. `tried`: how much it took, for people. `undecided`: cycles that nobody
    could judge. `confirmed`: the analysis on Spark said the same; None where it was not asked."""

    defect: str
    arm: str
    plan: str
    seed: int
    caught: bool
    by: str = ""
    witness: str = ""
    cycles: int = 0
    undecided: int = 0
    seconds: float = 0.0
    messages: int = 0
    tried: str = ""
    folder: str = ""
    confirmed: bool | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return self.defect, self.plan, self.seed


class Attempts:
    """Of one campaign, kept as they end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.made = {attempt.key: attempt for attempt in self._read()}

    def add(self, attempt: Attempt) -> None:
        self.made[attempt.key] = attempt
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(attempt)) + "\n")

    def of(self, defect: str) -> list[Attempt]:
        return sorted(
            (attempt for attempt in self.made.values() if attempt.defect == defect), key=lambda attempt: (attempt.plan, attempt.seed)
        )

    def _read(self) -> Iterator[Attempt]:
        names = {field.name for field in fields(Attempt)}
        for line in self._path.read_text().splitlines() if self._path.exists() else []:
            try:
                yield Attempt(**{name: value for name, value in json.loads(line).items() if name in names})
            except (ValueError, TypeError):
                continue  # the last line of a campaign that was killed
