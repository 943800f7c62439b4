"""Faults as they come and go, told once each: struck, proven or not, healed. And what they are in the run's file of faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from harness.history.beside import COVERED, PROVEN, UNPROVEN, Fault
from nemesis.nemesis import Struck


class FaultNews:
    """Compares what has taken place with what was told before."""

    def __init__(self) -> None:
        self._strike_told: set[int] = set()
        self._end_told: set[int] = set()

    def lines(self, rows: Sequence[Struck]) -> list[str]:
        found = []
        for row in rows:
            if (row.start is not None or row.proof is not None) and row.id not in self._strike_told:
                self._strike_told.add(row.id)
                found.append(f"fault {row.id}: {row.fault} on {row.selector}{_nodes(row)}")
            if row.healed is not None and row.id not in self._end_told:
                self._end_told.add(row.id)
                found.append(f"fault {row.id}: {row.fault} healed{_nodes(row)}; {row.state}")
        return found


def faults_on_the_run_s_time(rows: Sequence[Struck], load_began: int) -> tuple[Fault, ...]:
    """The nemesis counts from the load's beginning, everything else from the run's, which was `load_began` ns earlier."""
    return tuple(Fault(**asdict(_moved(row, load_began))) for row in rows)


def in_short(row: Struck) -> str:
    return row.fault + _nodes(row)


def summary(faults: Sequence[Fault]) -> str:
    """How many in which state, and how late they were."""
    states = [fault.state for fault in faults]
    late = [(fault.start - fault.planned) / 1e9 for fault in faults if fault.start is not None]
    words = [f"{states.count(state)} {word}" for state, word in ((PROVEN, "proven"), (COVERED, "covered"), (UNPROVEN, "unproven"))]
    return f"{len(faults)} faults: {', '.join(words)}" + (f"; at most {max(late):.1f} s late" if late else "")


def _moved(row: Struck, by: int) -> Struck:
    start = None if row.start is None else row.start + by
    return replace(row, planned=row.planned + by, start=start, end=None if row.end is None else row.end + by)


def _nodes(row: Struck) -> str:
    return f" ({', '.join(row.targets)})" if row.targets else ""
