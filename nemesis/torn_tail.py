"""Torn tail: the broker is killed and the end of its logs, past the last flush, is cut off or overwritten before it is started again.

A broker that has just recovered has flushed all it has: nothing of it can be torn.
"""

from __future__ import annotations

from nemesis.damage import has_tail, tear_tails
from nemesis.damaged import Damaged


class TornTail(Damaged):
    whole = "have nothing behind their last flush"

    def can_damage(self, node: str, data: str) -> bool:
        return has_tail(self.world.node(node), data)

    def damage(self, node: str, data: str) -> None:
        parameters = self.strike.planned.parameters
        seed = f"{self.strike.id}/{node}"
        tear_tails(self.world.node(node), data, str(parameters["how"]), int(parameters["bytes"]), seed)
