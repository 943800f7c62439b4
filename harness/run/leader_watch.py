"""Who leads how many partitions, for the display: asked on a thread of its own, since brokers under faults take their time to answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from harness.errors import EnvironmentFault
from harness.run.display import View
from harness.systems.system import System

INTERVAL_S = 2.0


class LeaderWatch:
    """`leaders` and `controller` are what was answered last."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.leaders: Mapping[str, int] = {}
        self.controller: str | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="leaders", daemon=True)
        self._thread.start()

    def added_to(self, view: View) -> View:
        return replace(view, leaders=self.leaders, controller=self.controller)

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                self.leaders = Counter(found.leader or "nobody" for found in self._system.leaders().values())
                self.controller = self._system.controller()
            except EnvironmentFault:
                self.leaders, self.controller = {}, None
            self._over.wait(INTERVAL_S)
