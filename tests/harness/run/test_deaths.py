"""A death is one only if nobody meant it."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from harness.nodes import Process
from harness.run import deaths
from harness.run.deaths import DeathWatch
from harness.run.outcome import Death
from nemesis.world import Holds


class Cluster:
    """A world with one broker, which is dead from the beginning."""

    def __init__(self):
        self.down = Holds()
        self.current = Process(10, 1)
        self.dead = True
        self.looked = threading.Semaphore(0)
        self.system = self

    def died(self):
        self.looked.release()
        return ["n1"] if self.dead else []

    def process(self, node):
        return self.current

    def start_node(self, node):
        self.current, self.dead = Process(11, 2), False

    def alone_on(self, node):
        return nullcontext()

    def node(self, name):
        return SimpleNamespace(wait=lambda process, timeout: -9)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(deaths, "INTERVAL_S", 0.01)
    return Cluster()


def look_at(cluster, times, *, restart=True):
    told: list[Death] = []
    watch = DeathWatch(cluster, lambda: 77, told.append, restart=restart)
    for _ in range(times):
        assert cluster.looked.acquire(timeout=60)
    watch.close()
    assert told == watch.deaths
    return [(death.node, death.t, death.code, death.restarted) for death in told]


def test_a_broker_that_died_is_told_once_and_started_again(cluster):
    assert look_at(cluster, 5) == [("n1", 77, -9, True)]
    assert cluster.current == Process(11, 2)


def test_one_that_is_not_to_be_started_again_stays_dead_and_is_told_once(cluster):
    assert look_at(cluster, 5, restart=False) == [("n1", 77, -9, False)]
    assert cluster.current == Process(10, 1)


def test_a_broker_that_a_fault_holds_down_has_not_died(cluster):
    cluster.down.take("n1", 3)
    assert look_at(cluster, 5) == []


def test_one_look_is_not_enough(cluster):
    """A kill whose end is not written down yet looks like a death for a moment."""
    first = threading.Event()

    def died():
        found = [] if first.is_set() else ["n1"]
        first.set()
        cluster.looked.release()
        return found

    cluster.died = died
    assert look_at(cluster, 5) == []
