"""A run: from a scenario to a folder that holds everything the analysis needs, with nothing left running.

    prepared = prepare(resolve("default"))
    outcome = run_scenario(prepared, results, PlainLines(print))

`prepared` is what is decided before anything starts, `refusals` why it may not start, `deployment` the cluster, `workers` the clients,
`phases` the order of it all, `final_phase` the proof that the cluster came to rest and what it then holds, `collecting` the files.
"""

from harness.run.outcome import RunOutcome
from harness.run.phases import run_scenario
from harness.run.prepared import Prepared, prepare, recall

__all__ = ["Prepared", "RunOutcome", "prepare", "recall", "run_scenario"]
