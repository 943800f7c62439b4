"""Deleted index: the broker is killed and indexes of its logs are removed before it is started again.

A broker that has just lost its indexes may be killed before it has made them anew: then the strike waits for some, as a torn tail does.
"""

from __future__ import annotations

from nemesis.damage import delete_indexes, has_index
from nemesis.damaged import Damaged
from nemesis.fault import Strike
from nemesis.targets import NoTarget

_ENDINGS = {"offset": (".index",), "time": (".timeindex",), "both": (".index", ".timeindex")}


class DeletedIndex(Damaged):
    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._endings = _ENDINGS[str(strike.planned.parameters["which"])]
        system, world = strike.world.system, strike.world
        if bare := [node for node in strike.targets if not has_index(world.node(node), system.data_path(node), self._endings)]:
            raise NoTarget(f"the logs of {', '.join(bare)} have no index yet")

    def damage(self, node: str, data: str) -> None:
        delete_indexes(self.world.node(node), data, self._endings)
