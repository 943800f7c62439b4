"""The second checker: plain Python, written from the definitions alone, to be read in one sitting.

It shares no code with the checks that run on Spark, only `analysis.anomalies` and the reading of files. Both look at every run that is
small enough and must find the same; where they do not, nobody can tell what happened. So nothing here is clever: dictionaries, sets and
loops that follow the definitions in `analysis.anomalies`. `logs` is what is known; `partitions`, `across` and `circles` judge it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from analysis.anomalies import ANOMALIES
from analysis.reference.across import intermediate_reads, stalls_that_matter, suspended_promises, transactions, unavailable
from analysis.reference.circles import circles
from analysis.reference.logs import Rules, TopicPart, read_run
from analysis.reference.partitions import CHECKS, One

Instance = tuple[str | int | None, ...]
"""Topic, partition (none where the anomaly is across), then the numbers that `analysis.anomalies` names."""


class Found(dict[str, set[Instance]]):
    """Every instance by the anomaly's name. `doubtful` has those that are reported and never an error; each is among the others, too."""

    def __init__(self) -> None:
        super().__init__()
        self.doubtful: dict[str, set[Instance]] = {}

    def add(self, place: TopicPart, instances: Iterable[One]) -> None:
        for name, identity, doubtful in instances:
            instance: Instance = ((None, None) if ANOMALIES[name].across else place) + identity
            self.setdefault(name, set()).add(instance)
            if doubtful:
                self.doubtful.setdefault(name, set()).add(instance)


NOWHERE: TopicPart = ("", -1)


def check(run: Path, rules: Rules = "highwater") -> Found:
    """All anomalies in the folder of a run."""
    history = read_run(run, rules)
    found = Found()
    for place, log in history.logs.items():
        for judge in CHECKS:
            found.add(place, judge(log))
        found.add(place, intermediate_reads(log))
    if history.plan.promises.progress:
        suspended, stalls = suspended_promises(history), stalls_that_matter(history)
        for place, log in history.logs.items():
            found.add(place, unavailable(log, suspended, stalls))
    found.add(NOWHERE, transactions(history))
    found.add(NOWHERE, circles(history))
    return found
