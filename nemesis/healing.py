"""Is everything whole again? Asked of the nodes when all faults are over, whatever each fault proved for itself.

A fault whose healing was covered by another has no proof of its own, and the last undoing of everything has none at all. So the
whole is looked at once more: brokers that serve, processes that run, nodes that hear each other, clocks that are right.
"""

from __future__ import annotations

from collections.abc import Collection

from nemesis.fault import until
from nemesis.world import World

CLOCK_SLACK = 0.005


def await_healed(world: World, kinds: Collection[str], timeout: float) -> list[str]:
    """What is still wrong when nothing is or time is up. `kinds`: the faults that took place, so that only what they touch is asked.

    Every question is a program on a node: while one thing is wrong the next is not looked at, so that those who recover have the machine.
    """
    found: list[str] = []

    def whole() -> bool:
        found[:] = wounds(world, kinds)
        return not found

    try:
        until(whole, timeout)
    finally:
        world.probe.close()
    return found


def wounds(world: World, kinds: Collection[str]) -> list[str]:
    """Of one sort: the first that is found."""
    found = _stopped(world) or _silent(world)
    if not found and "partition" in kinds:
        found = _cuts(world)
    if not found and "clock" in kinds:
        found = [f"the clock of the broker on {name} is not right" for name in world.names if not _clock_is_right(world, name)]
    return found


def _silent(world: World) -> list[str]:
    return [f"the broker on {name} does not serve" for name in world.names if not world.system.is_up(name)]


def _stopped(world: World) -> list[str]:
    seen = {name: world.system.find_process(name) for name in world.names}
    return [f"the broker on {name} is stopped" for name, process in seen.items() if process is not None and process.state == "T"]


def _cuts(world: World) -> list[str]:
    left = [node.name for node in world.nodes.everyone if node.network is not None and node.network.rules()]
    if left:
        return [f"rules of ours are left on {name}" for name in left]
    heard = world.probe.measure([node.name for node in world.nodes.everyone])
    return [f"{each.receiver} does not hear {each.sender}" for each in heard if not (each.datagrams and each.connected)]


def _clock_is_right(world: World, name: str) -> bool:
    error = world.system.clock_error(name)
    return error is not None and error.least - CLOCK_SLACK <= 0 <= error.most + CLOCK_SLACK
