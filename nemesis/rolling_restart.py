"""Rolling restart: the targets are stopped and started again, one after the other, as an operator does it.

It takes the time it takes: a roll that was begun is finished even past the planned end, unless the run is given up. The proof is the
order: each process ended and a new one served before the next was stopped, and no two were away at once.
"""

from __future__ import annotations

import time

from nemesis.away import GONE_TIMEOUT
from nemesis.fault import Evidence, Fault, Strike, until

_STOP_TIMEOUT = 30.0


class RollingRestart(Fault):
    """Invariant: `_away` is the one node that is held down now, if any."""

    def __init__(self, strike: Strike) -> None:
        super().__init__(strike)
        self._away: str | None = None
        self._rolled: list[dict[str, object]] = []
        self._covering: set[int] = set()
        self._down = float(strike.planned.parameters.get("down", 1.0))
        self._between = float(strike.planned.parameters.get("between", 2.0))

    def apply(self) -> None:
        """Everything happens while it is proven."""

    def prove(self) -> Evidence:
        for number, node in enumerate(self.targets):
            if number and self.strike.cancelled.wait(self._between):
                break
            self._roll(node)
            if self.strike.cancelled.is_set():
                break
        ok = len(self._rolled) == len(self.targets) and all(step["ok"] for step in self._rolled)
        return Evidence(ok, {"rolled": self._rolled}, tuple(sorted(self._covering)))

    def heal(self) -> None:
        if self._away is not None:
            self._start(self._away)

    def prove_healed(self) -> Evidence:
        up: dict[str, object] = {}

        def all_up() -> bool:
            up.update({node: self.world.system.is_up(node) for node in self.targets})
            return all(up.values()) or bool(self.in_the_way())

        until(all_up, self.world.system.start_timeout)
        return Evidence(all(up.values()), {"up": up}, self.covering())

    def _roll(self, node: str) -> None:
        system = self.world.system
        before, began = system.process(node), time.monotonic()
        with self.world.alone_on(node):
            self.world.down.take(node, self.strike.id)
            self._away = node
            ended = before is not None and system.stop_node(node, _STOP_TIMEOUT)
            if not ended:
                system.kill_node(node)
        gone = before is not None and until(
            lambda: not self.world.node(node).alive(before) and system.find_process(node) is None, GONE_TIMEOUT
        )
        self.strike.cancelled.wait(self._down)
        self._start(node)
        back = until(lambda: system.is_up(node), system.start_timeout, self.strike.cancelled)
        seen = system.find_process(node)
        new = seen is not None and seen.process != before
        self._covering.update(self.covering([node], began))
        self._rolled.append(
            {
                "node": node, "ok": ended and gone and new and back, "ended": ended, "gone": gone, "up": back,
                "pid": before.pid if before else None, "new_pid": seen.process.pid if seen else None,
                "seconds": round(time.monotonic() - began, 3),
            }
        )  # fmt: skip

    def _start(self, node: str) -> None:
        with self.world.alone_on(node):
            if self.world.down.release(node, self.strike.id):
                self.world.system.start_node(node)
            self._away = None
