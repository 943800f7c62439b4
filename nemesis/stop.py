"""Stop: SIGTERM to brokers, which may end in order. They are started again when the fault ends.

A broker that does not end by itself in time is killed, so that it can be started again; then nothing was proven, unless another fault
had paused it: a stopped process does not see the signal. In time is half a minute, also where the strike came late and has less left:
how long an orderly end takes is the broker's to say.
"""

from __future__ import annotations

from nemesis.away import Away
from nemesis.fault import Evidence, Strike

_PATIENCE = 30.0


class Stop(Away):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._stubborn: list[str] = []

    def end(self, node: str) -> None:
        if not self.world.system.stop_node(node, _PATIENCE):
            self._stubborn.append(node)
            self.world.system.kill_node(node)

    def prove(self) -> Evidence:
        evidence = super().prove()
        return Evidence(evidence.ok and not self._stubborn, {**evidence.facts, "killed": self._stubborn}, evidence.covered_by)
