"""Deleted index: the broker is killed and indexes of its logs are removed before it is started again.

A broker that has just lost its indexes may be killed before it has made them anew: then there is none to delete.
"""

from __future__ import annotations

from nemesis.damage import delete_indexes, has_index
from nemesis.damaged import Damaged

_ENDINGS = {"offset": (".index",), "time": (".timeindex",), "both": (".index", ".timeindex")}


class DeletedIndex(Damaged):
    whole = "have no index yet"

    def can_damage(self, node: str, data: str) -> bool:
        return has_index(self.world.node(node), data, self._endings)

    def damage(self, node: str, data: str) -> None:
        delete_indexes(self.world.node(node), data, self._endings)

    @property
    def _endings(self) -> tuple[str, ...]:
        return _ENDINGS[str(self.strike.planned.parameters["which"])]
