"""Who does not hear whom, kept as what each fault wants; the nodes' rules are their sum.

A cut is a pair (receiver, sender): the receiver drops what the sender sends. The network interface of a node can only drop all of our
rules, so a heal that leaves others' cuts on a node makes those anew at once, and packets may slip through for a moment.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from harness.nodes import Network, Node

Cut = tuple[str, str]


class Cuts:
    """Invariant: between calls, the rules of each node are those of the cuts wanted there. Safe to use from several threads."""

    def __init__(self, nodes: Sequence[Node], ports: Sequence[int]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._ports = tuple(ports)
        self._wanted: dict[int, frozenset[Cut]] = {}
        self._lock = threading.Lock()

    def cut(self, fault: int, cuts: Collection[Cut]) -> None:
        with self._lock:
            self._wanted[fault] = frozenset(cuts)
            for receiver in sorted({receiver for receiver, _ in cuts}):
                self._block(receiver, {sender for at, sender in cuts if at == receiver})

    def heal(self, fault: int) -> None:
        """What no other fault wants; whatever fails on one node is tried on the others before it is told."""
        with self._lock:
            gone = self._wanted.pop(fault, frozenset())
            problems = []
            for receiver in sorted({receiver for receiver, _ in gone}):
                try:
                    _network(self._nodes[receiver]).unblock_all()
                    self._block(receiver, {sender for at, sender in self.wanted() if at == receiver})
                except Exception as problem:
                    problems.append(problem)
            if problems:
                raise problems[0]

    def heal_all(self) -> None:
        with self._lock:
            self._wanted.clear()
            for node in self._nodes.values():
                if node.network is not None:
                    node.network.unblock_all()

    def wanted(self) -> frozenset[Cut]:
        return frozenset(cut for cuts in self._wanted.values() for cut in cuts)

    def wanted_by(self, cuts: Collection[Cut], fault: int) -> tuple[int, ...]:
        """The other faults that want any of these cuts."""
        with self._lock:
            return tuple(sorted(other for other, theirs in self._wanted.items() if other != fault and theirs & frozenset(cuts)))

    def _block(self, receiver: str, senders: Collection[str]) -> None:
        if senders:
            _network(self._nodes[receiver]).block([self._nodes[sender].address for sender in sorted(senders)], self._ports)


def _network(node: Node) -> Network:
    assert node.network is not None, f"node {node.name} has no network that can be cut, which is refused beforehand"
    return node.network
