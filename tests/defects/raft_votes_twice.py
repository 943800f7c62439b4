"""A controller that restarts has forgotten whom it voted for in this term, and votes again.

Stands for a vote that is not synced before it is sent (Raft, section 5.2). Two leaders are
elected in one term, each with a majority, and both commit.

Exposed in the simulation by power losses that hunt voters just after they have voted.
"""

from broker_impl.plugins import replace
from broker_impl.quorum.raft import HardState, Raft

ARM = "simulation"
ANOMALIES = ("voted for",)


def install() -> None:
    def _durable_state(self: Raft) -> HardState:
        return HardState(self.term, None)

    replace("broker_impl.quorum.raft:Raft._durable_state", _durable_state)
