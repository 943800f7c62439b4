"""What every fault is: something applied to nodes, proven by measuring, healed, and proven healed.

A fault that silently did nothing is the worst defect a harness can have. So what is done and what is believed are apart: `apply` and
`heal` act, and the two proofs look at the nodes by other means than the action used. A proof is data that goes into the run's files.
Where another fault stands between (a clock cannot be read on a broker that is dead), the evidence says which one covers it.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from nemesis.schedule import PlannedFault
from nemesis.targets import ClusterView
from nemesis.world import Holds, World

PROOF_TIMEOUT = 30.0
_POLL = 0.2


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, as JSON has it; `covered_by`: ids of the faults that kept it from being measured."""

    ok: bool
    facts: Mapping[str, object] = field(default_factory=dict)
    covered_by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault that strikes now: what was planned, whom it found, and how long it goes on. `ends` is a monotonic time in seconds."""

    planned: PlannedFault
    targets: tuple[str, ...]
    world: World
    view: ClusterView
    rng: random.Random
    ends: float
    cancelled: threading.Event

    @property
    def id(self) -> int:
        return self.planned.id

    def left(self) -> float:
        """Seconds until it is to be healed; none once it is cancelled."""
        return 0.0 if self.cancelled.is_set() else max(self.ends - time.monotonic(), 0.0)

    def wait(self, seconds: float | None = None) -> bool:
        """Until the end, or so long; whether the strike is still on."""
        self.cancelled.wait(self.left() if seconds is None else min(seconds, self.left()))
        return self.left() > 0


class Fault(ABC):
    """The life of one strike, in this order. `heal` may be called after an `apply` that failed half-way, and only once.

    `since`: when that began which is to be proven next, the strike or its healing.
    """

    def __init__(self, strike: Strike) -> None:
        self.strike = strike
        self.world = strike.world
        self.targets = strike.targets
        self.since = time.monotonic()

    @abstractmethod
    def apply(self) -> None: ...

    @abstractmethod
    def prove(self) -> Evidence:
        """The effect, measured. May go on until the strike ends, and does whatever the fault does while it lasts."""

    @abstractmethod
    def heal(self) -> None: ...

    @abstractmethod
    def prove_healed(self) -> Evidence: ...

    @property
    def holds(self) -> tuple[Holds, ...]:
        """In which another fault may keep this one from being seen."""
        return self.world.down, self.world.paused

    def in_the_way(self) -> tuple[int, ...]:
        """Other faults that hold one of these brokers now: there is no use in waiting."""
        return self._others(self.targets, None)

    def covering(self, nodes: Collection[str] | None = None, since: float | None = None) -> tuple[int, ...]:
        """Those that held one at some time since that began which is to be proven: they may be gone by now, and their effect not."""
        return self._others(self.targets if nodes is None else nodes, since or self.since)

    def _others(self, nodes: Collection[str], since: float | None) -> tuple[int, ...]:
        return tuple(sorted({fault for hold in self.holds for fault in hold.others(nodes, self.strike.id, since)}))


def until(done: Callable[[], bool], timeout: float = PROOF_TIMEOUT, cancelled: threading.Event | None = None) -> bool:
    """Look again and again; whether it was so in time. It is looked at once at least."""
    deadline = time.monotonic() + timeout
    pause = cancelled or threading.Event()
    while not done():
        if time.monotonic() > deadline or pause.wait(_POLL):
            return False
    return True
