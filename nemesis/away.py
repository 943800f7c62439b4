"""A broker that is made to end and is started again later: what kill, stop, torn tail and deleted index have in common.

The proof is not that a signal was sent, but that /proc shows no such process, and none of this broker at all by its command line:
a wrong pid would otherwise prove itself. Healed is a new process that serves.
"""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

from harness.nodes import Process
from nemesis.fault import Evidence, Fault, Strike, until

GONE_TIMEOUT = 10.0


class Away(Fault):
    """Invariant: a node in `_struck` is held down by this fault from `apply` to `heal`."""

    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._struck: dict[str, Process | None] = {}

    @abstractmethod
    def end(self, node: str) -> None:
        """Make the broker end."""

    def work(self, node: str) -> None:
        """What is done to the node while its broker is down."""

    def apply(self) -> None:
        """All at once."""
        with ThreadPoolExecutor(len(self.targets)) as pool:
            list(pool.map(self._take, self.targets))

    def prove(self) -> Evidence:
        facts = {node: self._gone(node) for node in self.targets}
        return Evidence(all(fact["gone"] for fact in facts.values()), facts, self.covering())

    def heal(self) -> None:
        for node in self.targets:
            with self.world.alone_on(node):
                if node in self._struck and self.world.down.release(node, self.strike.id):
                    self.world.system.start_node(node)

    def prove_healed(self) -> Evidence:
        facts: dict[str, dict[str, object]] = {}
        until(lambda: self._all_back(facts), self.world.system.start_timeout)
        ok = all(fact["new"] and fact["up"] for fact in facts.values())
        return Evidence(ok, facts, self.covering())

    def _take(self, node: str) -> None:
        with self.world.alone_on(node):
            others = self.world.down.others([node], self.strike.id)
            self.world.down.take(node, self.strike.id)
            self._struck[node] = self.world.system.process(node)
        if not others:
            self.end(node)
        self.work(node)

    def _gone(self, node: str) -> dict[str, object]:
        """Looked at twice: the process we meant, and whatever looks like this broker."""
        struck = self._struck.get(node)

        def gone() -> bool:
            return struck is not None and not self.world.node(node).alive(struck) and self.world.system.find_process(node) is None

        found = until(gone, GONE_TIMEOUT) if struck is not None else False
        return {"gone": found, "pid": struck.pid if struck else None, "started": struck.started if struck else None}

    def _all_back(self, facts: dict[str, dict[str, object]]) -> bool:
        """Or another fault keeps one of them away."""
        for node in self.targets:
            seen = self.world.system.find_process(node)
            new = seen is not None and seen.process != self._struck.get(node)
            up = new and self.world.system.is_up(node)
            facts[node] = {"pid": seen.process.pid if seen else None, "new": new, "up": up}
        return all(fact["up"] for fact in facts.values()) or bool(self.in_the_way())
