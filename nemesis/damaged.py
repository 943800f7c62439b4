"""A broker that is killed, finds its files damaged when it is started again, and has to cope.

Not every broker has something to damage at every time: then the strike waits for it, as others wait for a role.
"""

from __future__ import annotations

from abc import abstractmethod

from nemesis.away import Away
from nemesis.damage import Files, differences, inspect
from nemesis.fault import Evidence, Strike
from nemesis.targets import NoTarget


class Damaged(Away):
    """Invariant: files are touched only after their broker was seen to have ended."""

    whole: str
    """What is said of logs in which there is nothing to damage."""

    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._before: dict[str, Files] = {}
        if whole := [node for node in self.targets if not self.can_damage(node, self.world.system.data_path(node))]:
            raise NoTarget(f"the logs of {', '.join(whole)} {self.whole}")

    @abstractmethod
    def can_damage(self, node: str, data: str) -> bool: ...

    @abstractmethod
    def damage(self, node: str, data: str) -> None: ...

    def end(self, node: str) -> None:
        self.world.system.kill_node(node)

    def work(self, node: str) -> None:
        if self.world.system.find_process(node) is None:
            data = self.world.system.data_path(node)
            self._before[node] = inspect(self.world.node(node), data)
            self.damage(node, data)

    def prove(self) -> Evidence:
        """That the broker is gone, and that its files are not what they were."""
        gone = super().prove()
        changes = {node: self._changes(node) for node in self.targets}
        facts = {node: {"process": gone.facts[node], **changes[node]} for node in self.targets}
        return Evidence(gone.ok and all(change["changed"] for change in changes.values()), facts, gone.covered_by)

    def _changes(self, node: str) -> dict[str, object]:
        if node not in self._before:
            return {"changed": 0}
        return differences(self._before[node], inspect(self.world.node(node), self.world.system.data_path(node)))
