"""Pause: SIGSTOP to brokers, SIGCONT when the fault ends. A broker wakes up in a world that went on without it.

The proof is the letter T in /proc, of the process that /proc shows for this broker, not only of the one that was signalled.
"""

from __future__ import annotations

import signal

from harness.nodes import Process
from nemesis.fault import Evidence, Fault, Strike, until

_STOPPED = "T"
_TIMEOUT = 2.0


class Pause(Fault):
    """Invariant: `_struck` holds the processes that were sent SIGSTOP and not yet SIGCONT by this fault."""

    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._struck: dict[str, Process] = {}

    def apply(self) -> None:
        for node in self.targets:
            with self.world.alone_on(node):
                process = self.world.system.process(node)
                if process is not None:
                    self.world.paused.take(node, self.strike.id)
                    self._struck[node] = process
                    self.world.node(node).signal(process, signal.SIGSTOP)

    def prove(self) -> Evidence:
        facts = {node: self._look(node, stopped=True) for node in self.targets}
        wrong = [node for node in self.targets if not facts[node]["ok"]]
        return Evidence(not wrong, facts, self.covering(wrong))

    def heal(self) -> None:
        """One that another fault holds, too, stays paused."""
        for node, process in self._struck.items():
            with self.world.alone_on(node):
                if self.world.paused.release(node, self.strike.id):
                    self.world.node(node).signal(process, signal.SIGCONT)

    def prove_healed(self) -> Evidence:
        facts = {node: self._look(node, stopped=False) for node in self.targets}
        wrong = [node for node in self.targets if not facts[node]["ok"]]
        return Evidence(not wrong, facts, self.covering(wrong))

    def _look(self, node: str, *, stopped: bool) -> dict[str, object]:
        seen = self.world.system.find_process(node)

        def as_meant() -> bool:
            nonlocal seen
            seen = self.world.system.find_process(node)
            if not stopped:
                return seen is not None and seen.state != _STOPPED
            return seen is not None and seen.process == self._struck.get(node) and seen.state == _STOPPED

        ok = until(as_meant, _TIMEOUT)
        return {"ok": ok, "pid": seen.process.pid if seen else None, "state": seen.state if seen else None}
