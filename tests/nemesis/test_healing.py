"""Whether everything is whole again, asked of nodes that say what the test wants."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.nodes import Process
from harness.systems.system import ClockError, Seen
from nemesis.healing import await_healed, wounds
from nemesis.probe import Heard


class Whole:
    """Two nodes and the clients', with nothing wrong; each test breaks one thing."""

    names = ("n1", "n2")

    def __init__(self) -> None:
        self.up = {"n1": True, "n2": True}
        self.states = {"n1": "S", "n2": "S"}
        self.rules: dict[str, set[str]] = {"n1": set(), "n2": set(), "client": set()}
        self.clocks = {"n1": ClockError(-0.001, 0.001), "n2": ClockError(-0.001, 0.001)}
        self.heard = [Heard("n1", "n2", 3, True), Heard("n2", "n1", 3, True)]
        self.probe = self.system = self
        self.closed = False
        everyone = [SimpleNamespace(name=name, network=SimpleNamespace(rules=lambda name=name: self.rules[name])) for name in self.rules]
        self.nodes = SimpleNamespace(everyone=everyone)

    def is_up(self, name):
        return self.up[name]

    def find_process(self, name):
        return Seen(Process(1, 1), self.states[name])

    def clock_error(self, name):
        return self.clocks[name]

    def measure(self, names):
        return self.heard

    def close(self):
        self.closed = True


KINDS = ("partition", "kill", "pause", "clock")


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda world: world.up.update(n2=False), "the broker on n2 does not serve"),
        (lambda world: world.states.update(n1="T"), "the broker on n1 is stopped"),
        (lambda world: world.rules["client"].add("a rule"), "rules of ours are left on client"),
        (lambda world: world.heard.append(Heard("n1", "client", 0, True)), "n1 does not hear client"),
        (lambda world: world.clocks.update(n2=ClockError(29.9, 30.1)), "the clock of the broker on n2 is not right"),
        (lambda world: world.clocks.update(n2=None), "the clock of the broker on n2 is not right"),
    ],
)
def test_each_wound_is_found_and_named(change, words):
    world: Any = Whole()
    assert wounds(world, KINDS) == []
    change(world)
    assert wounds(world, KINDS) == [words]


def test_only_what_the_faults_touched_is_asked():
    world: Any = Whole()
    world.clocks["n1"] = None
    world.rules["n1"].add("a rule")
    assert wounds(world, ("kill",)) == []


def test_what_is_still_wrong_when_time_is_up_is_told_and_the_probes_are_closed():
    world: Any = Whole()
    world.up["n1"] = False
    assert await_healed(world, KINDS, 0.0) == ["the broker on n1 does not serve"]
    assert world.closed
