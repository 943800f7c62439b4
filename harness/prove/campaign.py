"""All broken brokers and the sound one, one cluster at a time, and what is printed on the way.

First every defect with a plan, then the sound broker through as many cycles of that plan as the slowest catch took: so it has stood
everything that condemned another, and no time goes into what condemned nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from harness.prove import process_arms
from harness.prove.attempts import SOUND, Attempt, Attempts
from harness.prove.cluster_arm import ClusterArm
from harness.prove.defects import Defect

Tell = Callable[[str], None]


def prove(defects: Sequence[Defect], seeds: Sequence[int], attempts: Attempts, cluster: ClusterArm, tell: Tell) -> None:
    """What `attempts` holds already is not made again."""
    ordered = sorted(defects, key=lambda defect: (defect.arm, defect.plan, defect.name))
    for seed in seeds:
        for (arm, plan), group in groupby(ordered, key=lambda defect: (defect.arm, defect.plan or defect.arm)):
            cycles = 1
            for defect in group:
                attempt = attempts.made.get((defect.name, defect.plan, seed))
                if attempt is None:
                    tell(f"{defect.name}, seed {seed} ({arm}{', ' + defect.plan if defect.plan else ''}): {defect.title}")
                    attempt = cluster.try_defect(defect, seed) if arm == "cluster" else process_arms.try_defect(defect, seed)
                    attempts.add(attempt)
                    tell(f"  {sentence(attempt)}")
                cycles = max(cycles, attempt.cycles) if attempt.caught else cycles
            if (SOUND, plan, seed) not in attempts.made:
                tell(f"the sound broker, seed {seed} ({arm}, {plan})")
                attempt = cluster.try_sound(plan, seed, cycles) if arm == "cluster" else process_arms.try_sound(arm, seed)
                attempts.add(attempt)
                tell(f"  {sentence(attempt)}")


def sentence(attempt: Attempt) -> str:
    after = f"after {attempt.seconds:.0f} s, {attempt.tried}"
    if attempt.defect == SOUND:
        return f"ACCUSED of {attempt.by} {after}: {attempt.witness}" if attempt.caught else f"not accused, {attempt.tried}"
    if not attempt.caught:
        return f"ESCAPED, {attempt.tried}"
    spark = {True: "", False: "; Spark does NOT say so", None: ""}[attempt.confirmed]
    return f"caught by {attempt.by} {after}{spark}"


def succeeded(attempts: Attempts, defects: Sequence[Defect], seeds: Sequence[int]) -> bool:
    """Every defect in at least two thirds of its seeds, all of it confirmed; the sound broker judged everywhere and never accused."""
    for defect in defects:
        made = [attempt for attempt in attempts.of(defect.name) if attempt.seed in seeds]
        if sum(attempt.caught for attempt in made) * 3 < 2 * len(seeds) or any(attempt.confirmed is False for attempt in made):
            return False
    return not any(attempt.caught or attempt.undecided == attempt.cycles for attempt in attempts.of(SOUND))
