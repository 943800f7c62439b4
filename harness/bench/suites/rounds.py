"""In which order things are measured. Pure.

A shared machine is slower in one minute than in the next, so what is compared is measured side by side: in each round every case comes
once, in an order drawn anew, and within a case the systems follow each other, again in an order drawn anew. A ratio is then one of
neighbours in time, and no system always comes first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """One measurement; `case` and `system` count from 0, `round` from 1."""

    round: int
    case: int
    system: int


def order_of_rounds(rounds: int, cases: Sequence[int], systems: int, seed: int) -> list[Slot]:
    chance = random.Random(seed)
    return [
        Slot(number, case, system)
        for number in range(1, rounds + 1)
        for case in chance.sample(cases, len(cases))
        for system in chance.sample(range(systems), systems)
    ]
