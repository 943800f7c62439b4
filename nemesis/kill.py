"""Kill: SIGKILL to brokers, all targets at once. They are started again when the fault ends.

The page cache survives, so nothing that was written is lost: kill proves nothing about fsync.
"""

from __future__ import annotations

from nemesis.away import Away


class Kill(Away):
    def end(self, node: str) -> None:
        self.world.system.kill_node(node)
