"""Cutting a node off from others: packets are dropped by where they come from, on the node that receives them.

A routing rule `from PEER blackhole` drops in silence, one direction at a time: new connections time out and established ones stall, as
behind a dead switch. It only works ahead of the rule that finds local addresses, which the kernel puts first of all; so on every node
that one is moved behind ours once, before the first cut. (A blackhole *route* on the sender is no substitute: connects fail at once.)
"""

from __future__ import annotations

import ipaddress
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

CUT_PREFERENCE = 50
LOCAL_PREFERENCE = 100
LOCAL_TABLE = 255
TCP, UDP = 6, 17
LEASE = 600.0


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """One rule of the kernel: packets from `source` are dropped; of one protocol and to or from one port only, where those are not 0."""

    source: str
    protocol: int = 0
    to_port: int = 0
    from_port: int = 0


class Network(ABC):
    """The cuts of one node. Only rules with our preference and action are ours: others are neither shown nor removed."""

    @abstractmethod
    def block(self, sources: Sequence[str], ports: Sequence[int] = (), *, lease: float = LEASE) -> None:
        """Drop what comes from these IPv4 addresses; with ports, only TCP and UDP to or from these ports at either end.

        A node that can outlive us removes its rules by itself `lease` seconds later. What is blocked already stays so.
        """

    @abstractmethod
    def unblock_all(self) -> None:
        """Remove every cut of ours."""

    @abstractmethod
    def rules(self) -> frozenset[Rule]:
        """Our cuts, read back from the kernel."""


def rules_for(sources: Sequence[str], ports: Sequence[int]) -> frozenset[Rule]:
    """What a block amounts to. Ports are cut at both ends: a connection we opened to the peer has its port on the far side."""
    for source in sources:
        if ipaddress.ip_address(source).version != 4:
            raise ValueError(f"{source} is no IPv4 address; nodes have no other kind")
    if not ports:
        return frozenset(Rule(source) for source in sources)
    ends = [(port, 0) for port in ports] + [(0, port) for port in ports]
    return frozenset(Rule(source, protocol, *end) for source in sources for protocol in (TCP, UDP) for end in ends)
