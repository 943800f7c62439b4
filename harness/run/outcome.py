"""What is known when a run is over and nobody has judged its history yet.

A doubt is a reason why no verdict can be given whatever the history shows: a planned fault that was not proven, a cluster that did not
come to rest, final reads that did not reach the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.errors import CANNOT_TELL, DONE
from harness.history.beside import UNPROVEN, Fault

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Death:
    """A broker that ended though nobody here ended it. `t`: ns since the run began; `code` negative: the signal."""

    node: str
    t: int
    code: int | None
    restarted: bool


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """`faults` as in faults.parquet; `finals_complete`: every partition was read to its end."""

    folder: Path
    run_id: str
    seed: int
    faults: tuple[Fault, ...] = ()
    deaths: tuple[Death, ...] = ()
    finals_complete: bool = False
    interrupted: bool = False
    doubts: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Before the history is looked at."""
        if self.interrupted:
            return INTERRUPTED
        return CANNOT_TELL if self.doubts else DONE


def doubts_about_faults(faults: tuple[Fault, ...]) -> list[str]:
    return [f"fault {fault.id} ({fault.fault} on {fault.selector}) was not proven" for fault in faults if fault.state == UNPROVEN]
