"""Torn tail: the broker is killed and the end of its logs, past the last flush, is cut off or overwritten before it is started again."""

from __future__ import annotations

from nemesis.damage import tear_tails
from nemesis.damaged import Damaged


class TornTail(Damaged):
    def damage(self, node: str, data: str) -> None:
        parameters = self.strike.planned.parameters
        seed = f"{self.strike.id}/{node}"
        tear_tails(self.world.node(node), data, str(parameters["how"]), int(parameters["bytes"]), seed)
