"""When the proof of a wrong clock may take longer than the strike was planned to last, and when it may not."""

import random
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from harness.systems.system import ClockError
from nemesis.clock import Bump, Clock, Drift, Strobe
from nemesis.fault import Strike
from nemesis.targets import ClusterView
from nemesis.world import Clocks, Holds
from tests.nemesis.cluster import planned

NODES = ("n1", "n2")


class Brokers:
    """Clocks that are told something, and are too slow to answer the first few questions."""

    def __init__(self, silent: int) -> None:
        self.offsets = dict.fromkeys(NODES, 0.0)
        self.silent = dict.fromkeys(NODES, silent)

    def set_clock(self, node: str, offset: float) -> None:
        self.offsets[node] = offset

    def clock_error(self, node: str) -> ClockError | None:
        self.silent[node] -= 1
        at = self.offsets[node]
        return None if self.silent[node] >= 0 else ClockError(at - 0.001, at + 0.001)


def over(kind: type[Clock], silent: int, *, held: bool = False, cancelled: bool = False, **parameters: Any) -> Clock:
    """A strike whose planned time is over before anything was looked at."""
    brokers = Brokers(silent)
    down = Holds()
    if held:
        down.take("n2", 9)
    world: Any = SimpleNamespace(system=brokers, clocks=Clocks(brokers), down=down, paused=Holds())  # type: ignore[arg-type]
    given_up = threading.Event()
    if cancelled:
        given_up.set()
    view = ClusterView(NODES, frozenset(NODES))
    return kind(Strike(planned("clock", target="n1+n2", **parameters), NODES, world, view, random.Random(1), time.monotonic(), given_up))


CASES = [(Bump, {"offset": 30.0}), (Strobe, {"offset": 30.0, "period": 0.05}), (Drift, {"rate": 0.5, "step": 0.05})]


@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_a_clock_that_is_slow_to_be_read_is_proven_after_the_planned_end(kind, parameters):
    fault = over(kind, silent=3, **parameters)
    fault.apply()
    assert fault.prove().ok


@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_what_another_fault_keeps_from_being_read_is_not_waited_for_and_covered(kind, parameters):
    fault = over(kind, silent=10**9, held=True, **parameters)
    fault.apply()
    evidence = fault.prove()
    assert not evidence.ok and evidence.covered_by == (9,)


@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_a_run_that_is_given_up_is_not_waited_for(kind, parameters):
    fault = over(kind, silent=10**9, cancelled=True, **parameters)
    fault.apply()
    assert not fault.prove().ok


@pytest.mark.parametrize(("kind", "parameters"), CASES)
def test_who_was_in_the_way_for_a_while_is_named_when_it_is_gone(kind, parameters):
    fault = over(kind, silent=1000, cancelled=True, **parameters)
    fault.world.down.take("n2", 9)
    fault.world.down.release("n2", 9)
    fault.apply()
    evidence = fault.prove()
    assert not evidence.ok and evidence.covered_by == (9,)
