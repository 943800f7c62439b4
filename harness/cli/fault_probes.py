"""Which faults work here: each thing a fault needs is done once to a node made for the purpose, and looked at.

A namespace is the node that every machine should have; in containers and on hosts the same rules, signals and files are used over SSH,
so what fails here for another reason than a missing namespace fails there as well.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.cli.probes import Finding
from harness.errors import EnvironmentFault, UserMistake
from harness.nodes import Node, create
from harness.systems.clock_file import clock_environment, put_clock_off
from nemesis.catalogue import CATALOGUE, FaultKind, Need

_PATIENCE = 20.0
_STRANGER = "198.18.0.99"
_SKEW = 1000.0


def faults() -> list[Finding]:
    """One for each kind in the catalogue."""
    with tempfile.TemporaryDirectory(prefix="highwater-doctor-") as folder:
        try:
            with create("namespaces", 1, "doctor", Path(folder)) as nodes:
                needs = {need: _try(experiment, nodes.nodes[0]) for need, experiment in _EXPERIMENTS.items()}
        except (EnvironmentFault, UserMistake):
            return [Finding(f"fault: {name}", "not tried", "needs nodes first: see nodes: namespaces") for name in CATALOGUE]
    return [_finding(kind, needs) for kind in CATALOGUE.values()]


def _finding(kind: FaultKind, needs: dict[Need, tuple[bool, str]]) -> Finding:
    found = "; ".join(needs[need][1] for need in kind.needs)
    if all(needs[need][0] for need in kind.needs):
        return Finding(f"fault: {kind.name}", found)
    return Finding(f"fault: {kind.name}", found, "scenarios without it work: --fault names others, ./highwater faults lists them")


def _try(experiment: Callable[[Node], str], node: Node) -> tuple[bool, str]:
    try:
        return True, experiment(node)
    except (EnvironmentFault, OSError) as problem:
        return False, str(problem)


def _cut(node: Node) -> str:
    assert node.network is not None
    node.network.block([_STRANGER])
    if not node.network.rules():
        raise EnvironmentFault("a routing rule was made and is not there")
    node.network.unblock_all()
    if node.network.rules():
        raise EnvironmentFault("a routing rule was removed and is still there")
    return "packets can be dropped by where they come from"


def _control(node: Node) -> str:
    process = node.start(["sleep", "1000"], out="sleep.log")
    node.signal(process, signal.SIGSTOP)
    deadline = time.monotonic() + _PATIENCE
    while node.state(process) != "T":
        if time.monotonic() > deadline:
            raise EnvironmentFault("a process that was stopped goes on")
        time.sleep(0.01)
    node.signal(process, signal.SIGKILL)
    if node.wait(process, _PATIENCE) != -signal.SIGKILL:
        raise EnvironmentFault("a process that was killed did not end")
    return "processes can be paused and killed"


def _put_clock_off(node: Node) -> str:
    environment = clock_environment(node)
    put_clock_off(node, _SKEW)
    told = node.run([sys.executable, "-I", "-S", "-c", "import time; print(time.time())"], env=environment, timeout=_PATIENCE)
    if float(told.require("a program under libfaketime")) - time.time() < _SKEW / 2:
        raise EnvironmentFault("libfaketime has no effect; remove .venv and call ./highwater again")
    return "a process's clock can be put off"


def _damage(node: Node) -> str:
    node.put("segment", b"0123456789")
    node.run(["truncate", "-s", "5", "segment"]).require("cutting a file")
    if node.get("segment") != b"01234":
        raise EnvironmentFault("a file that was cut is whole")
    return "files can be cut"


_EXPERIMENTS: dict[Need, Callable[[Node], str]] = {
    Need.NETWORK: _cut,
    Need.PROCESS: _control,
    Need.CLOCK: _put_clock_off,
    Need.FILES: _damage,
}
