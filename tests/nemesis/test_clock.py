"""Clocks of real brokers: read from what brokers write down, next to the monotonic clock that no fault touches."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from nemesis.clock import Bump, Drift, Reset, Strobe
from nemesis.nemesis import PROVEN, UNPROVEN
from tests.nemesis.cluster import Running, eventually, planned, said, strike, told


def wall_ahead(nodes, system, node: str) -> float:
    """Seconds by which the wall clock is ahead in the last words of a broker that is stopped: its monotonic clock is ours, too."""
    asked = time.monotonic_ns()
    assert system.stop_node(node, 60.0)
    words = json.loads(said(nodes, node).splitlines()[-1])
    assert words["mono_ns"] > asked, "it says something when it is stopped"
    ahead = words["wall_ms"] / 1000 - time.time() + (time.monotonic_ns() - words["mono_ns"]) / 1e9
    system.start_node(node)
    system.wait_up([node])
    return ahead


def test_a_bumped_clock_is_off_and_is_right_again_when_healed(nodes, system, nemesis):
    with Running(nemesis, planned("clock", "bump", "n2", offset=-120.5)) as struck:
        assert told(struck.proof())["ok"]
        assert wall_ahead(nodes, system, "n2") == pytest.approx(-120.5, abs=0.2)
        assert system.clock_error("n1").most < 60.0
    assert struck.end()[0].state == PROVEN
    assert wall_ahead(nodes, system, "n2") == pytest.approx(0.0, abs=0.2)


@pytest.mark.parametrize(
    ("kind", "parameters"), [(Strobe, {"offset": 30.0, "period": 2.0}), (Drift, {"rate": 0.5, "step": 0.5})], ids=["strobe", "drift"]
)
def test_a_clock_that_moves_is_seen_moving_and_is_right_again_when_healed(system, nemesis, kind, parameters):
    struck = strike(nemesis, planned("clock", target="n3", **parameters), "n3")
    fault = kind(struck)
    fault.apply()
    with ThreadPoolExecutor(1) as pool:
        proof = pool.submit(fault.prove)
        eventually(lambda: fault.shown and not system.clock_error("n3").admits(0.0))
        struck.cancelled.set()
        assert proof.result().ok
    fault.heal()
    assert fault.prove_healed().ok
    error = system.clock_error("n3")
    assert error.least < 0.01 and error.most > -0.01


def test_a_reset_undoes_what_another_fault_did(system, nemesis):
    bump = Bump(strike(nemesis, planned("clock", "bump", "n1", offset=60.0), "n1"))
    reset = Reset(strike(nemesis, planned("clock", "reset", "n1", id=2), "n1"))
    bump.apply()
    assert bump.prove().ok
    reset.apply()
    assert reset.prove().ok
    assert system.clock_error("n1").most < 30.0
    bump.heal()
    reset.heal()


def test_a_clock_that_does_not_follow_is_unproven(nodes, system, nemesis, monkeypatch):
    monkeypatch.setattr(system, "set_clock", lambda node, offset: None)
    monkeypatch.setattr("nemesis.clock.PROOF_TIMEOUT", 1.0)
    [row] = nemesis.run([planned("clock", "bump", "n1", end=1.0, offset=60.0)], time.monotonic())
    assert row.state == UNPROVEN
