"""What is judged, and by which figures; never how fast anything is."""

import math
from dataclasses import replace

from harness.bench.against_floor import AgainstFloor, Pass
from harness.bench.goals import PROBE_USER_PER_GB, Goal, judge
from harness.bench.idle import Idle
from harness.bench.outage import Outage
from harness.bench.replication_cost import ReplicationCost
from harness.bench.report import Report, as_json, number, show
from harness.bench.throughput import Row
from harness.bench.usage import Cpu

ROW = Row(1, "1", 1024, 400.0, 390_625.0, Cpu(0.3, 0.5), 0.0, 900.0, 20_000.0, 3.0, 9.0, 60.0)
REPLICATED = replace(ROW, replicas=3, acks="all", produce_mb_s=200.0, cpu_per_gb=Cpu(1.0, 3.0))
FLOOR = AgainstFloor(Pass(400.0, Cpu(0.6, 0.5)), Pass(800.0, Cpu(0.2, 0.4)), 0.5)
COST = ReplicationCost((400.0, 500.0, 100.0), (200.0, 250.0, 90.0))
IDLE = Idle(1000, 50.0, 0.4, 0.6, 0.5, 0.3)
OUTAGES = [Outage("killed", False, 3500.0, 0), Outage("stopped", True, 400.0, 0)]


def test_each_goal_takes_its_figure_from_the_row_it_names():
    goals = {goal.what: goal for goal in judge([ROW, REPLICATED], FLOOR, COST, IDLE, OUTAGES, session_s=3.0)}
    reached = [round(goal.reached, 3) for goal in goals.values()]
    assert reached == [0.5, 0.5, 0.4, round(1.0 - PROBE_USER_PER_GB, 3), 50.0, 0.6, 3500.0, 400.0]
    assert [goal.met for goal in goals.values()] == [True] * 7 + [False]


def test_a_killed_leader_has_its_session_and_a_second():
    assert judge([], FLOOR, COST, IDLE, OUTAGES, session_s=3.0)[-2].wanted == 4000


def test_what_was_not_measured_is_not_judged():
    assert [goal.met for goal in judge([ROW], FLOOR, None, IDLE, [], session_s=3.0)][1:4] == [None, True, None]


def test_a_goal_that_is_just_reached_is_met_when_more_is_better():
    assert Goal("", 0.5, "x", 0.5, at_least=True).met
    assert not Goal("", 0.5, "s", 0.5, at_least=False).met


def test_numbers_show_three_digits():
    assert [number(value) for value in (1234567.0, 123.4, 12.34, 1.234, math.nan)] == ["1,234,567", "123", "12.3", "1.23", "-"]


def test_a_report_shows_every_row_and_verdict(capsys):
    show(_report())
    shown = capsys.readouterr().out
    assert "390,625" in shown and "not met" in shown and "0.60 s until it serves" in shown


def test_json_has_no_nan():
    text = as_json(replace(_report(), rows=[replace(ROW, p50_ms=math.nan)]))
    assert text["rows"][0]["p50_ms"] is None and text["goals"][0]["met"] is True


def _report() -> Report:
    rows = [ROW, REPLICATED]
    return Report("a client", 3, rows, FLOOR, COST, IDLE, OUTAGES, judge(rows, FLOOR, COST, IDLE, OUTAGES, 3.0), 1.0)
