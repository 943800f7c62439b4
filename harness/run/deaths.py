"""Brokers that end though nobody here ended them: noticed while the run goes on, told, and started again if the scenario says so.

The trap is a broker that a fault is just ending: its process is gone before that is written down. So a death counts when the same
process is found dead twice, while no fault wants the broker down.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from harness.errors import EnvironmentFault
from harness.nodes import Process
from harness.run.outcome import Death
from nemesis.world import World

INTERVAL_S = 0.5


class DeathWatch:
    """On a thread of its own until closed. `tell` is called for each death, once."""

    def __init__(self, world: World, now: Callable[[], int], tell: Callable[[Death], None], *, restart: bool) -> None:
        self._world, self._now, self._tell, self._restart = world, now, tell, restart
        self.deaths: list[Death] = []
        self._suspects: dict[str, Process] = {}
        self._told: set[tuple[str, Process]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="deaths", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            try:
                self._look()
            except EnvironmentFault:
                continue  # a node that cannot be asked is found by whoever needs it

    def _look(self) -> None:
        dead = {node: process for node in self._world.system.died() if (process := self._world.system.process(node))}
        for node, process in dead.items():
            if self._suspects.get(node) == process and (node, process) not in self._told:
                self._certify(node, process)
        self._suspects = dead

    def _certify(self, node: str, process: Process) -> None:
        with self._world.alone_on(node):
            if node in self._world.down.held() or self._world.system.process(node) != process:
                return
            self._told.add((node, process))
            code = self._world.node(node).wait(process, 1.0)
            if self._restart:
                self._world.system.start_node(node)
        death = Death(node, self._now(), code, self._restart)
        self.deaths.append(death)
        self._tell(death)
