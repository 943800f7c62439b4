"""Kill, stop, rolling restart and pause on real brokers: seen in /proc and on the brokers' ports, not in the faults' own proofs."""

import os
import signal
import threading
import time

import pytest

from nemesis.kill import Kill
from nemesis.nemesis import PROVEN, UNPROVEN, Nemesis
from nemesis.pause import Pause
from tests.nemesis.cluster import Running, answers, eventually, planned, state_of, strike, told


def test_killed_brokers_are_gone_all_at_once_and_come_back_as_new_processes(nodes, system, nemesis):
    old = {name: system.process(name).pid for name in ("n1", "n2", "n3")}
    with Running(nemesis, planned("kill", target="all")) as struck:
        assert told(struck.proof())["ok"]
        assert [state_of(nodes, pid) for pid in old.values()] == ["", "", ""]
        assert not any(answers(nodes, system, name) for name in old)
    [row] = struck.end()
    assert (row.state, row.targets) == (PROVEN, ["n1", "n2", "n3"])
    assert all(answers(nodes, system, name) for name in old)
    assert not {system.process(name).pid for name in old} & set(old.values())
    assert row.late is not None and row.late >= 0


def test_a_stopped_broker_says_goodbye(nodes, system, nemesis):
    pid = system.process("n2").pid
    with Running(nemesis, planned("stop", target="n2")) as struck:
        struck.proof()
        assert state_of(nodes, pid) == ""
        assert os.path.exists(f"{system.data_path('n2')}/.kafka_cleanshutdown")
    assert struck.end()[0].state == PROVEN
    assert answers(nodes, system, "n2")


def test_a_stop_that_comes_late_gives_the_broker_its_time_all_the_same(nodes, system, nemesis, monkeypatch):
    given, stop = [], system.stop_node

    def noted(node, timeout):
        given.append(timeout)
        return stop(node, timeout)

    monkeypatch.setattr(system, "stop_node", noted)
    [row] = nemesis.run([planned("stop", target="n3", end=0.1)], time.monotonic())
    assert row.state == PROVEN and given == [30.0]


def test_a_paused_broker_takes_connections_and_says_nothing_until_it_is_healed(nodes, system, nemesis):
    pid = system.process("n1").pid
    with Running(nemesis, planned("pause", target="n1")) as struck:
        assert told(struck.proof())["n1"]["state"] == "T"
        assert state_of(nodes, pid) == "T"
        assert not system.is_up("n1")
    assert struck.end()[0].state == PROVEN
    assert state_of(nodes, pid) not in ("T", "")


def test_a_rolling_restart_renews_every_process(nodes, system, nemesis):
    old = [system.process(name) for name in ("n1", "n2", "n3")]
    rolled = nemesis.run([planned("rolling-restart", target="all", end=0.1, down=0.0, between=0.0)], time.monotonic())
    assert rolled[0].state == PROVEN, rolled
    assert [step["node"] for step in told(rolled[0])["rolled"]] == ["n1", "n2", "n3"]
    assert not {system.process(name) for name in ("n1", "n2", "n3")} & set(old)


def test_the_controller_is_found_when_the_fault_strikes(system, nemesis):
    controller = system.controller()
    with Running(nemesis, planned("pause", target="controller")) as struck:
        assert struck.proof().targets == [controller]
        assert not system.is_up(controller)


def test_a_kill_that_strikes_a_stranger_is_unproven(nodes, system, nemesis, monkeypatch):
    decoy = nodes.nodes[0].start(["sleep", "60"], out="decoy.log")
    broker = system.process("n1")
    monkeypatch.setattr(system, "process", lambda name: decoy)
    monkeypatch.setattr(system, "kill_node", lambda name: nodes.nodes[0].signal(decoy, signal.SIGKILL))
    with Running(nemesis, planned("kill", target="n1")) as struck:
        assert not told(struck.proof())["ok"]
        monkeypatch.undo()
    assert struck.end()[0].state == UNPROVEN
    assert system.process("n1") == broker


def test_a_pause_that_strikes_a_stranger_is_unproven(nodes, system, nemesis, monkeypatch):
    decoy = nodes.nodes[0].start(["sleep", "60"], out="decoy.log")
    monkeypatch.setattr(system, "process", lambda name: decoy)
    with Running(nemesis, planned("pause", target="n1")) as struck:
        assert not told(struck.proof())["ok"]
        assert state_of(nodes, decoy.pid) == "T"
    assert struck.end()[0].state == UNPROVEN
    nodes.nodes[0].signal(decoy, signal.SIGKILL)


def test_a_broker_that_one_fault_holds_down_is_not_started_by_another_and_covers_it(nodes, system, nemesis):
    first, second = (Kill(strike(nemesis, planned("kill", target="n3", id=number), "n3")) for number in (1, 2))
    first.apply()
    second.apply()
    assert second.prove().covered_by == (1,)
    second.heal()
    assert not second.prove_healed().ok and second.prove_healed().covered_by == (1,)
    assert not answers(nodes, system, "n3")
    first.heal()
    assert first.prove_healed().ok
    assert answers(nodes, system, "n3")


def test_a_broker_that_was_down_when_it_was_to_be_paused_covers_it_also_when_it_is_back_before_anybody_looks(nodes, system, nemesis):
    killed, paused = Kill(strike(nemesis, planned("kill", target="n3"), "n3")), Pause(strike(nemesis, planned("pause", id=2), "n3"))
    killed.apply()
    paused.apply()
    killed.heal()
    assert killed.prove_healed().ok
    evidence = paused.prove()
    assert not evidence.ok and evidence.covered_by == (1,)
    paused.heal()
    assert paused.prove_healed().ok


def test_an_exception_where_the_nemesis_runs_heals_what_was_under_way(nodes, system, nemesis):
    class Interrupted(threading.Event):
        """Stands for a Ctrl-C while the second fault is waited for."""

        def wait(self, timeout=None):
            if threading.current_thread() is threading.main_thread() and timeout and timeout > 30:
                eventually(lambda: any(row.proof for row in nemesis.rows()))
                raise KeyboardInterrupt
            return super().wait(timeout)

    pid = system.process("n1").pid
    with pytest.raises(KeyboardInterrupt):
        plan = [planned("pause", target="n1", end=600.0), planned("kill", target="n1", id=2, start=599.0, end=600.0)]
        nemesis.run(plan, time.monotonic(), Interrupted())
    assert state_of(nodes, pid) not in ("T", "")
    [row] = nemesis.rows()
    assert row.state == PROVEN and row.healed is not None
    assert nemesis.under_way() == []


def test_a_role_that_nobody_has_is_unproven_and_says_why(nodes, system):
    nemesis = Nemesis(nodes, system, seed=1, topics=["there is no such topic"])
    [row] = nemesis.run([planned("kill", target="leader", end=0.1)], time.monotonic())
    assert (row.state, row.targets, row.start) == (UNPROVEN, [], None)
    assert "leader" in told(row)["error"]
