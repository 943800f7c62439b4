"""Messages lost under leader kills, for the first table of a suite: what the cheaper acks settings are paid for with.

Measured by `under_faults`, in runs of their own that are kept beside it. Where such a run cannot vouch for its count, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.bench.figures.results import LostUnderKills
from harness.bench.side_by_side.contenders import KAFKA, OURS
from harness.bench.suites.case import Acks, Case
from harness.bench.under_faults import KILL, FaultedLoad, measure_under_faults
from harness.errors import UserMistake


def require_killable(names: Sequence[str]) -> None:
    revisions = [name for name in names if name not in (OURS, KAFKA)]
    if revisions:
        raise UserMistake(f"leaders of {revisions[0]} cannot be killed here: --kills goes with {OURS} and {KAFKA} alone")


def measure_losses(
    names: Sequence[str], cases: Sequence[Case], kills: int, folder: Path, kafka_home: Path | None, say: Callable[[str], None]
) -> Iterator[LostUnderKills]:
    """At each acks setting of the cases."""
    settings: list[Acks] = list(dict.fromkeys(case.acks for case in cases))
    for system, name in enumerate(names):
        load = FaultedLoad(kills=kills, others=0, system=name, kafka_home=str(kafka_home) if kafka_home is not None else None)
        for found in measure_under_faults(load, settings, folder, tell=say).acks:
            killed = found.of(KILL)
            if killed is not None and not found.doubts:
                yield LostUnderKills(system, found.acks, killed.lost)
            for doubt in found.doubts:
                say(f"{name}, acks={found.acks}: lost messages cannot be told: {doubt}")
