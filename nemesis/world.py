"""What faults act on, and what they must know of each other, since they overlap.

Two faults may want the same broker down, the same pair of nodes cut, the same clock off. So wishes are kept apart from what is done: a
broker is started again only when nobody wants it down, and a cut goes only when no fault needs it. Each wish carries the fault's id,
by which a proof can say who stood in its way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from contextlib import AbstractContextManager

from harness.nodes import Node, Nodes
from harness.systems.system import System
from nemesis.cuts import Cuts
from nemesis.probe import PROBE_PORT, Probe


class Holds:
    """Which faults want a node in some state, and which wanted it. Invariant: a node is in `_held` only with a fault."""

    def __init__(self) -> None:
        self._held: dict[str, set[int]] = {}
        self._released: list[tuple[float, str, int]] = []
        self._lock = threading.Lock()

    def take(self, node: str, fault: int) -> None:
        with self._lock:
            self._held.setdefault(node, set()).add(fault)

    def release(self, node: str, fault: int) -> bool:
        """Whether nobody holds it any more."""
        with self._lock:
            before = self._held.get(node, set())
            left = before - {fault}
            if left != before:
                self._released.append((time.monotonic(), node, fault))
            if left:
                self._held[node] = left
            else:
                self._held.pop(node, None)
            return not left

    def others(self, nodes: Collection[str], fault: int, since: float | None = None) -> tuple[int, ...]:
        """Who else wants one of them so now, or at any time since then."""
        with self._lock:
            found = {other for node in nodes for other in self._held.get(node, ())}
            if since is not None:
                found |= {other for when, node, other in self._released if when >= since and node in nodes}
            return tuple(sorted(found - {fault}))

    def held(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._held)


class Clocks:
    """The offsets faults want, the last wish first. Invariant: what a broker's clock is told is the last wish for its node, or 0."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._wishes: dict[str, dict[int, float]] = {}
        self._lock = threading.Lock()
        self.wished = Holds()

    def put_off(self, node: str, fault: int, offset: float) -> None:
        with self._lock:
            wishes = self._wishes.setdefault(node, {})
            wishes.pop(fault, None)
            wishes[fault] = offset
            self.wished.take(node, fault)
            self._tell(node)

    def release(self, node: str, fault: int) -> None:
        with self._lock:
            self._forget(node, fault)
            self._tell(node)

    def reset(self, node: str) -> None:
        """Every wish so far is forgotten."""
        with self._lock:
            self._forget(node, *self._wishes.get(node, {}))
            self._tell(node)

    def reset_all(self) -> None:
        with self._lock:
            for node, wishes in self._wishes.items():
                self._forget(node, *wishes)
                self._tell(node)
            self._wishes.clear()

    def _forget(self, node: str, *faults: int) -> None:
        for fault in faults:
            self._wishes.get(node, {}).pop(fault, None)
            self.wished.release(node, fault)

    def _tell(self, node: str) -> None:
        wishes = self._wishes.get(node)
        self._system.set_clock(node, list(wishes.values())[-1] if wishes else 0.0)


class World:
    """The nodes, the system on them, and the wishes of all faults under way."""

    def __init__(self, nodes: Nodes, system: System) -> None:
        self.nodes = nodes
        self.system = system
        self.down = Holds()
        self.paused = Holds()
        self.clocks = Clocks(system)
        self.probe = Probe(nodes.everyone)
        # Only where nothing else than the faults themselves uses the nodes' network may everything be cut.
        self.cuts = Cuts(nodes.everyone, () if nodes.kind == "namespaces" else (*system.ports, PROBE_PORT))
        self._locks = {node.name: threading.RLock() for node in nodes.everyone}
        self._nodes = {node.name: node for node in nodes.everyone}

    def node(self, name: str) -> Node:
        return self._nodes[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Without the clients' node."""
        return tuple(node.name for node in self.nodes.nodes)

    def alone_on(self, node: str) -> AbstractContextManager[bool]:
        """While no other fault starts or ends a process there."""
        return self._locks[node]
