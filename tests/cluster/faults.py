"""What is done to the brokers of a storm, and when: a seeded schedule of kills, pauses, clean stops and elections, and the hand that
carries it out.

The seed fixes time, kind, role and length. Which node that is, is found when the fault strikes (leaders move), among those that are
still well. Faults overlap, so it happens that nobody is left; a schedule may also ask for it.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.systems.local_cluster import LocalCluster
from tests.cluster.watching import Watch

Kind = Literal["kill", "pause", "stop", "elect"]
Role = Literal["leader", "follower", "controller", "two", "all"]

STOP_PATIENCE = 2.0
"""A stop that takes longer (nobody is left to hand over to) ends in a kill: the storm does not wait."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`length`: how long the node is away; a clean stop takes its own time on top. An election moves leaders home and takes nobody away."""

    at: float
    kind: Kind
    role: Role
    length: float


def seeded_faults(seed: int, seconds: float, *, kinds: Sequence[Kind] = ("kill", "pause", "stop", "elect")) -> list[Fault]:
    """About one every three seconds. Pauses last 2 to 6 s: some are shorter than a broker's session of 3 s, most are longer."""
    rng = random.Random(seed)
    faults = []
    at = 1.0
    while at < seconds:
        kind = rng.choice(kinds)
        role: Role = rng.choices(("leader", "follower", "controller", "two", "all"), (5, 3, 3, 2, 1))[0]
        length = rng.uniform(2.0, 6.0) if kind == "pause" else rng.choice((0.0, rng.uniform(0.2, 5.0)))
        faults.append(Fault(round(at, 2), kind, role, round(length, 2)))
        at += rng.expovariate(1 / 3.0) + (4.0 if role == "all" else 0.0)
    return faults


class Nemesis:
    """Strikes and heals. Invariant: `_away` has exactly the nodes that a fault of ours holds down."""

    def __init__(self, cluster: LocalCluster, watch: Watch, seed: int) -> None:
        self._cluster = cluster
        self._watch = watch
        self._random = random.Random(seed)
        self._away: set[int] = set()
        self.story: list[str] = []

    def run(self, faults: Sequence[Fault]) -> None:
        """Returns when the last fault is healed."""
        started = time.monotonic()
        order = itertools.count()
        agenda: list[tuple[float, int, Fault, list[int] | None]] = [(fault.at, next(order), fault, None) for fault in faults]
        heapq.heapify(agenda)
        while agenda:
            at, _, fault, struck = heapq.heappop(agenda)
            time.sleep(max(0.0, started + at - time.monotonic()))
            if struck is None:
                nodes = self._strike(fault)
                if not nodes:
                    continue
                self.story.append(f"{time.monotonic() - started:6.1f} {fault.kind} {fault.role} {nodes} for {fault.length} s")
                heapq.heappush(agenda, (time.monotonic() - started + fault.length, next(order), fault, nodes))
            else:
                self._heal(fault.kind, struck)
                self.story.append(f"{time.monotonic() - started:6.1f} {fault.kind} {fault.role} {struck} over")

    def _strike(self, fault: Fault) -> list[int]:
        if fault.kind == "elect":
            self._watch.elect_preferred()
            return []
        nodes = self._choose(fault.role)
        for node in nodes:
            if fault.kind == "pause":
                self._cluster.pause(node)
            elif fault.kind == "kill":
                self._cluster.kill(node)
            else:
                self._cluster.stop_node(node, STOP_PATIENCE)
        self._away.update(nodes)
        return nodes

    def _heal(self, kind: Kind, nodes: list[int]) -> None:
        for node in nodes:
            if kind == "pause":
                self._cluster.resume(node)
            else:
                self._cluster.start_node(node)
        self._away.difference_update(nodes)

    def _choose(self, role: Role) -> list[int]:
        well = [node for node in self._cluster.ids if node not in self._away]
        if role == "all":
            return well
        if role == "two":
            return self._random.sample(well, min(2, len(well)))
        suited = [node for node in well if node in self._suited(role, well)] or well
        return [self._random.choice(suited)] if suited else []

    def _suited(self, role: Role, well: list[int]) -> set[int]:
        if role == "controller":
            return self._controllers(well)
        leaders = self._watch.leaders()
        return leaders if role == "leader" else set(self._cluster.ids) - leaders

    def _controllers(self, well: list[int]) -> set[int]:
        """Those whom the nodes that are well believe in: one that is paused keeps everybody waiting who asks it."""
        answers = [health for node in well if (health := self._cluster.health(node)) is not None]
        return {health.controller for health in answers if health.controller is not None}
