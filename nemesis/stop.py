"""Stop: SIGTERM to brokers, which may end in order. They are started again when the fault ends.

A broker that does not end by itself before the fault does is killed, so that it can be started again; then nothing was proven, unless
another fault had paused it: a stopped process does not see the signal.
"""

from __future__ import annotations

from nemesis.away import Away
from nemesis.fault import Evidence, Strike

_PATIENCE = 15.0


class Stop(Away):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._stubborn: list[str] = []

    def end(self, node: str) -> None:
        if not self.world.system.stop_node(node, min(max(self.strike.left(), 1.0), _PATIENCE)):
            self._stubborn.append(node)
            self._covering = tuple(sorted({*self._covering, *self.world.paused.others([node], self.strike.id)}))
            self.world.system.kill_node(node)

    def prove(self) -> Evidence:
        evidence = super().prove()
        return Evidence(evidence.ok and not self._stubborn, {**evidence.facts, "killed": self._stubborn}, evidence.covered_by)
