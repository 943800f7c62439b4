"""Whom a fault strikes: a role that is written down beforehand, and nodes that are found when the fault strikes.

A plan that named nodes would miss: "the leader" is another node by the time the partition comes. So the plan holds a selector, and
`select` turns it into nodes from a view of the cluster taken at that moment. Both are pure: the same selector, randomness and view
give the same nodes. Nodes whose broker is down are drawn last, because a fault on them could prove nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ROLES: Mapping[str, str] = {
    "one": "one node, drawn",
    "minority": "as many nodes as are less than half of all (one at least), drawn",
    "majority": "as many nodes as are more than half of all, drawn",
    "all": "every node",
    "random": "any number of nodes from one to all, drawn",
    "leader": "the leader of one partition under test, drawn",
    "leaders": "every node that leads a partition under test",
    "follower": "one replica of a partition under test but its leader, both drawn",
    "followers": "the replicas of one partition under test but its leader, drawn",
    "controller": "the active controller",
}
OTHER_FORMS: Mapping[str, str] = {
    "n1+n3": "the nodes of these names",
    "as:NAME": "the nodes that the fault called NAME struck last",
}
NAMED, SAME = "names", "as"
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NoTarget(Exception):
    """Nobody has the role now: no controller is known, no partition has a leader, the fault referred to has not struck."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Invariant: `names` are nodes for `names`, the one name of a fault for `as`, and empty for a role."""

    role: str
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert bool(self.names) == (self.role in (NAMED, SAME)) and (self.role in (NAMED, SAME) or self.role in ROLES)

    def __str__(self) -> str:
        match self.role:
            case "names":
                return "+".join(self.names)
            case "as":
                return f"as:{self.names[0]}"
        return self.role


@dataclass(frozen=True, slots=True)
class PartitionView:
    topic: str
    partition: int
    leader: str | None
    replicas: tuple[str, ...]
    isr: tuple[str, ...]

    @property
    def followers(self) -> tuple[str, ...]:
        return tuple(node for node in self.replicas if node != self.leader)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What is known of the cluster when a fault strikes. `struck`: the nodes each named fault struck last."""

    nodes: tuple[str, ...]
    up: frozenset[str]
    controller: str | None = None
    partitions: tuple[PartitionView, ...] = ()
    struck: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parse_selector(text: str) -> Selector:
    """Raises ValueError on what is no selector. A word that is no role is the name of a node."""
    if text in ROLES:
        return Selector(text)
    if text.startswith("as:") and NODE_NAME.fullmatch(text[3:]):
        return Selector(SAME, (text[3:],))
    names = tuple(text.split("+"))
    if not all(NODE_NAME.fullmatch(name) for name in names) or len(set(names)) < len(names):
        raise ValueError(text)
    return Selector(NAMED, names)


def select(selector: Selector, rng: random.Random, view: ClusterView) -> tuple[str, ...]:
    """The nodes, one at least, in the cluster's order. Raises NoTarget."""
    chosen = set(_chosen(selector, rng, view))
    if not chosen:
        raise NoTarget(f"no node is `{selector}` now")
    unknown = sorted(chosen - set(view.nodes))
    if unknown:
        raise NoTarget(f"there is no node {', '.join(unknown)}; nodes are {', '.join(view.nodes)}")
    return tuple(node for node in view.nodes if node in chosen)


def partition_to_cut(selector: Selector, rng: random.Random, view: ClusterView) -> PartitionView:
    """One partition whose leader is to be cut from its ISR.

    The leader must stay leader while it is cut, or nothing is shown: so a partition is preferred whose followers include no
    controller, since the leader's heartbeats go there.
    """
    led = [partition for partition in view.partitions if partition.leader is not None and len(partition.replicas) > 1]
    if selector.role != "leader":
        nodes = select(selector, rng, view)
        led = [partition for partition in led if partition.leader in nodes]
    if not led:
        raise NoTarget(f"`{selector}` leads no partition with a follower now")
    shared = [partition for partition in led if len(partition.isr) > 1] or led
    return rng.choice([partition for partition in shared if view.controller not in partition.followers] or shared)


def _chosen(selector: Selector, rng: random.Random, view: ClusterView) -> Sequence[str]:
    match selector.role:
        case "names":
            return selector.names
        case "as":
            return view.struck.get(selector.names[0], ())
        case "all":
            return view.nodes
        case "leaders":
            return [partition.leader for partition in view.partitions if partition.leader is not None]
        case "leader":
            return _of_one_partition(rng, view, lambda partition: [partition.leader] if partition.leader is not None else [])
        case "followers":
            return _of_one_partition(rng, view, _followers)
        case "follower":
            return _one_that_lives(rng, view, _of_one_partition(rng, view, _followers))
        case "controller":
            return [view.controller] if view.controller is not None else []
    return _drawn(rng, view, _how_many(selector.role, rng, len(view.nodes)))


def _how_many(role: str, rng: random.Random, nodes: int) -> int:
    match role:
        case "one":
            return 1
        case "minority":
            return max(1, (nodes - 1) // 2)
        case "majority":
            return nodes // 2 + 1
    return rng.randint(1, nodes)


def _drawn(rng: random.Random, view: ClusterView, count: int) -> list[str]:
    up = [node for node in view.nodes if node in view.up]
    down = [node for node in view.nodes if node not in view.up]
    return [*rng.sample(up, len(up)), *rng.sample(down, len(down))][:count]


def _followers(partition: PartitionView) -> Sequence[str]:
    return partition.followers if partition.leader is not None else []


def _one_that_lives(rng: random.Random, view: ClusterView, nodes: Sequence[str]) -> list[str]:
    living = [node for node in nodes if node in view.up]
    return [rng.choice(living or nodes)] if nodes else []


def _of_one_partition(rng: random.Random, view: ClusterView, nodes_of: Callable[[PartitionView], Sequence[str]]) -> Sequence[str]:
    candidates = [nodes for nodes in map(nodes_of, view.partitions) if nodes]
    return rng.choice(candidates) if candidates else []
