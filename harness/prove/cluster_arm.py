"""A broken broker on a real cluster: cycles of fault, heal and complete read, each judged at once, until one condemns it.

A cycle is an ordinary run of a few seconds on a cluster of its own, so whatever is found is kept, shown and repeated like any other
run. The judge of a cycle is the reference checker in this process; only what it condemns is worth the start of Spark.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import EnvironmentFault
from harness.prove.attempts import SOUND, Attempt
from harness.prove.defects import Defect, plan_named
from harness.run import prepare, run_scenario
from harness.run.display import PlainLines
from harness.run.interrupts import Interrupts

MOST_CYCLES = 6
MOST_UNDECIDED = 3
"""Of the sound broker, which has stood nothing in a cycle that nobody could judge."""
_SEEDS_APART = 1000


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one cycle. `valid` is None where nobody can tell. `forbidden`: anomaly to its first witness. `sent`: messages."""

    valid: bool | None
    forbidden: dict[str, str]
    sent: int
    why: str = ""


Judge = Callable[[Path], Judgement]
Confirm = Callable[[Path, str], str | None]
"""The first witness of an anomaly, in the words of whoever confirms that it is forbidden; None where nobody does."""


class ClusterArm:
    """`judge` looks at a finished run by itself, `confirm` asks the whole analysis and leaves its report in the folder."""

    def __init__(self, folder: Path, judge: Judge, confirm: Confirm, tell: Callable[[str], None]) -> None:
        self._folder, self._judge, self._confirm, self._tell = folder, judge, confirm, tell

    def try_defect(self, defect: Defect, seed: int, most: int = MOST_CYCLES) -> Attempt:
        return self._try(Attempt(defect.name, "cluster", defect.plan, seed, False), defect.path, set(defect.anomalies), most, most)

    def try_sound(self, plan: str, seed: int, cycles: int) -> Attempt:
        """As many cycles that somebody could judge as the slowest catch with this plan took. Whatever is forbidden condemns it."""
        return self._try(Attempt(SOUND, "cluster", plan, seed, False), None, None, cycles + MOST_UNDECIDED, cycles)

    def _try(self, attempt: Attempt, plugin: Path | None, wanted: set[str] | None, most: int, enough: int) -> Attempt:
        """`enough`: how many cycles that could be judged end it."""
        began = time.monotonic()
        for cycle in range(1, most + 1):
            if attempt.cycles - attempt.undecided >= enough:
                break
            run, judgement = self._cycle(attempt, plugin, cycle)
            found = [name for name in judgement.forbidden if wanted is None or name in wanted]
            attempt = replace(
                attempt,
                cycles=cycle,
                undecided=attempt.undecided + (judgement.valid is None and not found),
                messages=attempt.messages + judgement.sent,
                seconds=time.monotonic() - began,
            )
            if found and run is not None:
                told = replace(attempt, caught=True, by=found[0], witness=judgement.forbidden[found[0]], folder=str(run))
                words = self._confirm(run, found[0])
                return replace(told, confirmed=words is not None, witness=words or told.witness, tried=_tried(told))
            self._tell(f"  cycle {cycle}: {judgement.why or 'nothing forbidden was found'}")
            if run is not None:
                shutil.rmtree(run)
        return replace(attempt, tried=_tried(attempt))

    def _cycle(self, attempt: Attempt, plugin: Path | None, cycle: int) -> tuple[Path | None, Judgement]:
        """A broker so broken that its cluster does not come up is not caught by that."""
        changes = {"name": attempt.defect, "seed": attempt.seed * _SEEDS_APART + cycle, "plugin": None if plugin is None else str(plugin)}
        prepared = prepare(plan_named(attempt.plan).model_copy(update=changes))
        try:
            with Interrupts() as interrupts:
                outcome = run_scenario(prepared, self._folder / attempt.plan, PlainLines(lambda _: None), interrupts)
        except EnvironmentFault as problem:
            return None, Judgement(None, {}, 0, f"could not be run: {problem}")
        if outcome.interrupted:
            raise KeyboardInterrupt
        return outcome.folder, self._judge(outcome.folder)


def _tried(attempt: Attempt) -> str:
    cycles = "1 cycle" if attempt.cycles == 1 else f"{attempt.cycles} cycles"
    return f"{cycles}, {attempt.messages:,} messages"
