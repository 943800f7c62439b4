"""Deleted index: the broker is killed and indexes of its logs are removed before it is started again."""

from __future__ import annotations

from nemesis.damage import delete_indexes
from nemesis.damaged import Damaged

_ENDINGS = {"offset": (".index",), "time": (".timeindex",), "both": (".index", ".timeindex")}


class DeletedIndex(Damaged):
    def damage(self, node: str, data: str) -> None:
        delete_indexes(self.world.node(node), data, _ENDINGS[str(self.strike.planned.parameters["which"])])
