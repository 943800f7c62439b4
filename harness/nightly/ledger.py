"""What earlier nights found, one line of JSON a run, appended when the run has ended: a night that is killed loses nothing.

Everything the next night needs is in it: which cases are long unproven, which seeds failed, how long a case takes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from harness.errors import CANNOT_TELL, DONE, FAILED, EnvironmentFault

Outcome = Literal["passed", "failed", "cannot tell", "error"]
FILE = "ledger.jsonl"


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of one night. `began` is the wall clock in seconds. `first_witness` is what the report would show first."""

    night: str
    case: str
    seed: int
    outcome: Outcome
    began: float
    seconds: float
    why: str
    first_witness: str
    command: str
    folder: str
    recovery_s: float | None = None
    reached: tuple[str, ...] = ()
    never_reached: tuple[str, ...] = ()


def outcome_of(exit_code: int) -> Outcome:
    known: dict[int, Outcome] = {DONE: "passed", FAILED: "failed", CANNOT_TELL: "cannot tell"}
    return known.get(exit_code, "error")


class Ledger:
    """Lines that are torn are those of a night that was killed: they are left out."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.entries = list(self._read())

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(entry)) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise EnvironmentFault(f"{self._path} cannot be written: {problem.strerror}") from None

    def of_night(self, night: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.night == night]

    def nights(self) -> list[str]:
        """In the order in which they began."""
        return list(dict.fromkeys(entry.night for entry in self.entries))

    def failing_seeds(self, case: str) -> list[int]:
        """Seeds whose last run failed, the newest first."""
        last = {entry.seed: entry.outcome for entry in self.entries if entry.case == case}
        return [seed for seed, outcome in reversed(last.items()) if outcome == "failed"]

    def last_proven(self, case: str) -> float | None:
        """When it last passed; None: never."""
        return max((entry.began for entry in self.entries if entry.case == case and entry.outcome == "passed"), default=None)

    def usual_seconds(self, case: str) -> float | None:
        """As long as the last time."""
        taken = [entry.seconds for entry in self.entries if entry.case == case and entry.outcome != "error"]
        return taken[-1] if taken else None

    def _read(self) -> Iterator[Entry]:
        names = {field.name for field in fields(Entry)}
        for line in self._path.read_text().splitlines() if self._path.exists() else []:
            try:
                said: dict[str, Any] = json.loads(line)
                told: dict[str, Any] = {
                    name: tuple(value) if isinstance(value, list) else value for name, value in said.items() if name in names
                }
                yield Entry(**told)
            except (ValueError, TypeError, AttributeError):
                continue
