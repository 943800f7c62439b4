"""Torn tail: the broker is killed and the end of its logs, past the last flush, is cut off or overwritten before it is started again.

A broker that has just recovered has flushed all it has: nothing of it can be torn. Then the strike waits for a tail as others wait
for a role.
"""

from __future__ import annotations

from nemesis.damage import has_tail, tear_tails
from nemesis.damaged import Damaged
from nemesis.fault import Strike
from nemesis.targets import NoTarget


class TornTail(Damaged):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        system, world = strike.world.system, strike.world
        if whole := [node for node in strike.targets if not has_tail(world.node(node), system.data_path(node))]:
            raise NoTarget(f"the logs of {', '.join(whole)} have nothing behind their last flush")

    def damage(self, node: str, data: str) -> None:
        parameters = self.strike.planned.parameters
        seed = f"{self.strike.id}/{node}"
        tear_tails(self.world.node(node), data, str(parameters["how"]), int(parameters["bytes"]), seed)
