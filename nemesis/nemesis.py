"""The nemesis: carries out a plan of faults against a running cluster, and leaves it whole however that ends.

Each strike has a thread of its own from its planned time to its healing, so faults overlap as they were planned to. Whom it strikes is
found then. Whatever happens (an error, the run given up, an exception where this runs) every strike is healed, and when all is over
everything that faults can do is undone once more, for all nodes.

Nothing goes through the network that faults cut: nodes are spoken to by the harness's own ways, which no rule here matches.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.nodes import Nodes
from harness.systems.system import System
from nemesis.clock import Bump, Drift, Reset, Strobe
from nemesis.deleted_index import DeletedIndex
from nemesis.fault import Evidence, Fault, Strike
from nemesis.kill import Kill
from nemesis.partition import Partition
from nemesis.pause import Pause
from nemesis.rolling_restart import RollingRestart
from nemesis.schedule import PlannedFault, strike_randomness
from nemesis.stop import Stop
from nemesis.targets import ClusterView, NoTarget, PartitionView, partition_to_cut, select
from nemesis.torn_tail import TornTail
from nemesis.world import World

PROVEN, COVERED, UNPROVEN = "proven", "covered by another fault", "unproven"
_FROM_METADATA = ("leader", "leaders", "follower", "followers", "controller")
_LOOK_AGAIN = 0.3

_KINDS: Mapping[tuple[str, str], Callable[[Strike], Fault]] = {
    ("kill", ""): Kill,
    ("stop", ""): Stop,
    ("rolling-restart", ""): RollingRestart,
    ("pause", ""): Pause,
    ("clock", "bump"): Bump,
    ("clock", "strobe"): Strobe,
    ("clock", "drift"): Drift,
    ("clock", "reset"): Reset,
    ("torn-tail", ""): TornTail,
    ("deleted-index", ""): DeletedIndex,
}


@dataclass(frozen=True, slots=True)
class Struck:
    """One fault as it took place, in the columns of the run's file of faults. Times are ns since the run's load began.

    `start` is before the first thing it did, `end` behind the last: its effect lies between. Both are missing where nobody was struck.
    """

    id: int
    fault: str
    selector: str
    targets: list[str]
    planned: int
    start: int | None
    end: int | None
    proof: str | None
    healed: str | None
    state: str

    @property
    def late(self) -> float | None:
        """Seconds from the planned time to the strike."""
        return None if self.start is None else (self.start - self.planned) / 1e9


class Nemesis:
    """One plan against one cluster. `topics`: those under test, whose leaders and followers are meant; left out: all."""

    def __init__(self, nodes: Nodes, system: System, seed: int, topics: Collection[str] | None = None) -> None:
        self.world = World(nodes, system)
        self._seed = seed
        self._topics = topics
        self._rows: dict[int, Struck] = {}
        self._under_way: dict[int, PlannedFault] = {}
        self._struck: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def run(self, plan: Sequence[PlannedFault], began: float, cancelled: threading.Event | None = None) -> list[Struck]:
        """Until the last fault is proven healed. `began`: the monotonic time, in seconds, from which the plan counts.

        Setting `cancelled` heals everything at once; strikes that had not begun then are no rows.
        """
        cancelled = cancelled or threading.Event()
        threads: list[threading.Thread] = []
        try:
            for fault in sorted(plan, key=lambda fault: fault.start):
                if cancelled.wait(max(began + fault.start - time.monotonic(), 0.0)):
                    break
                thread = threading.Thread(target=self._strike, args=(fault, began, cancelled), name=f"fault-{fault.id}", daemon=True)
                thread.start()
                threads.append(thread)
            for thread in threads:
                thread.join()
        except BaseException:
            cancelled.set()
            raise
        finally:
            for thread in threads:
                thread.join()
            self.heal_everything()
        return self.rows()

    def rows(self) -> list[Struck]:
        """What has taken place so far."""
        with self._lock:
            return [self._rows[number] for number in sorted(self._rows)]

    def under_way(self) -> list[PlannedFault]:
        with self._lock:
            return list(self._under_way.values())

    def heal_everything(self) -> None:
        """Whatever any fault could have left, on every node: what is right already is not touched."""
        world = self.world
        world.cuts.heal_all()
        world.clocks.reset_all()
        for name in world.names:
            seen = world.system.find_process(name)
            if seen is not None and seen.state == "T":
                world.node(name).signal(seen.process, signal.SIGCONT)
            if name in world.down.held():
                world.system.start_node(name)
        world.probe.close()

    def _strike(self, planned: PlannedFault, began: float, cancelled: threading.Event) -> None:
        """In a thread of its own. Every way out leaves a row."""
        with self._lock:
            self._under_way[planned.id] = planned
            self._rows[planned.id] = _planned_row(planned)
        try:
            self._carry_out(planned, began, cancelled)
        except Exception as problem:
            self._note(planned.id, proof=_as_json(Evidence(False, {"error": _told(problem)})))
        finally:
            with self._lock:
                del self._under_way[planned.id]

    def _carry_out(self, planned: PlannedFault, began: float, cancelled: threading.Event) -> None:
        fault = self._aim(planned, began + planned.end, cancelled)
        if isinstance(fault, NoTarget):
            others = tuple(sorted({other.id for other in self.under_way()} - {planned.id}))
            evidence = Evidence(False, {"error": str(fault)}, others)
            self._note(planned.id, proof=_as_json(evidence), state=COVERED if others else UNPROVEN)
            return
        self._note(planned.id, targets=list(fault.targets), start=_since(began))
        try:
            evidence = _proven(fault.apply, fault.prove)
            self._note(planned.id, proof=_as_json(evidence))
            fault.strike.wait()
        finally:
            fault.since = time.monotonic()
            healed = _proven(fault.heal, lambda: Evidence(True))
            self._note(planned.id, end=_since(began))
        if healed.ok:
            healed = _proven(lambda: None, fault.prove_healed)
        self._note(planned.id, healed=_as_json(healed), state=_state(evidence, healed))

    def _aim(self, planned: PlannedFault, ends: float, cancelled: threading.Event) -> Fault | NoTarget:
        """The fault on the nodes that have the role now, or as soon as someone has it."""
        while True:
            try:
                rng = strike_randomness(self._seed, planned)
                view = self._view(planned)
                partition: PartitionView | None = None
                if planned.variant == "leader-from-isr":
                    partition = partition_to_cut(planned.selector, rng, view)
                    targets: tuple[str, ...] = (str(partition.leader),)
                else:
                    targets = select(planned.selector, rng, view)
                if planned.name is not None:
                    self._struck[planned.name] = targets
                strike = Strike(planned, targets, self.world, view, rng, ends, cancelled)
                if planned.kind == "partition":
                    return Partition(strike, partition)
                return _KINDS[planned.kind, planned.variant](strike)
            except NoTarget as problem:
                if cancelled.wait(_LOOK_AGAIN) or time.monotonic() > ends:
                    return problem

    def _view(self, planned: PlannedFault) -> ClusterView:
        """Brokers are asked only where the role needs it."""
        system, names = self.world.system, self.world.names
        up = frozenset(name for name in names if (process := system.process(name)) and self.world.node(name).alive(process))
        view = ClusterView(names, up - self.world.paused.held(), struck=dict(self._struck))
        if planned.selector.role not in _FROM_METADATA and planned.variant != "leader-from-isr":
            return view
        partitions = tuple(
            PartitionView(topic, part, found.leader, found.replicas, found.isr)
            for (topic, part), found in system.leaders().items()
            if self._topics is None or topic in self._topics
        )
        return replace(view, controller=system.controller(), partitions=partitions)

    def _note(self, fault: int, **facts: object) -> None:
        with self._lock:
            self._rows[fault] = replace(self._rows[fault], **facts)  # type: ignore[arg-type]


def _proven(act: Callable[[], None], look: Callable[[], Evidence]) -> Evidence:
    try:
        act()
        return look()
    except Exception as problem:
        return Evidence(False, {"error": _told(problem)})


def _state(evidence: Evidence, healed: Evidence) -> str:
    missing = [each for each in (evidence, healed) if not each.ok]
    if not missing:
        return PROVEN
    return COVERED if all(each.covered_by for each in missing) else UNPROVEN


def _as_json(evidence: Evidence) -> str:
    return json.dumps({"ok": evidence.ok, **evidence.facts, "covered_by": list(evidence.covered_by)})


def _planned_row(planned: PlannedFault) -> Struck:
    name = f"{planned.kind}:{planned.variant}" if planned.variant else planned.kind
    return Struck(planned.id, name, str(planned.selector), [], round(planned.start * 1e9), None, None, None, None, UNPROVEN)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1e9)


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
