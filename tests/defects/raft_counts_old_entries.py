"""A leader takes an entry of an earlier term for committed because a majority has it.

Stands for figure 8 of the Raft paper, the mistake its section 5.4.2 is about. A later leader without that entry overwrites it, after it
was acted on.

Exposed in the simulation by the very schedule of that figure.
"""

from broker_impl.plugins import replace
from broker_impl.quorum.raft import Raft

ARM = "simulation"
ANOMALIES = ("without entry",)


def install() -> None:
    def _counts(self: Raft, index: int) -> bool:
        return True

    replace("broker_impl.quorum.raft:Raft._counts", _counts)
