"""What is judged and shown; never how fast anything is."""

import json

import pytest

from harness.bench import analysis
from harness.bench.analysis import DUCKDB, FLOOR, INJECTED, LOOP, MILLION, OURS, AnalysisReport, as_json, judge, measure_analysis
from harness.bench.analysis_report import show
from harness.bench.checkers.passes import Pass
from harness.bench.timed_checkers import Timed
from harness.cli.main import main


def timed(engine: str, rows: int, cold: float, **warm: float) -> Timed:
    passes = [Pass(name, seconds, {"lost": 3}) for name, seconds in warm.items() for _ in range(2)]
    return Timed(engine, rows, cold, tuple(passes), 5_000_000_000)


FIGURES = [
    timed(FLOOR, 10 * MILLION, 1.0, read=0.5),
    timed(OURS, 10 * MILLION, 8.0, core=2.0, all=5.0),
    timed(FLOOR, 100 * MILLION, 5.5, read=5.0),
    timed(DUCKDB, 100 * MILLION, 30.0, core=20.0),
    timed(OURS, 100 * MILLION, 25.0, core=22.0, all=55.0),
]


def test_goals_take_their_figures_from_the_largest_history():
    reached = {goal.what: (round(goal.reached, 3), goal.met) for goal in judge(FIGURES)}
    assert reached == {
        "core checks, 100 million rows, from a cold start": (4_000_000.0, True),
        "core checks, 100 million rows, warm, against DuckDB's time": (1.1, False),
        "core checks, 100 million rows, warm, against merely reading": (4.4, False),
        "all checks, 100 million rows, warm, against the core ones": (2.5, True),
        "core checks, warm, 100,000,000 rows against a tenth of them": (11.0, False),
        "peak memory, 100 million rows, all processes together": (5.0, True),
    }


def test_a_report_shows_engines_goals_and_whatever_is_wrong(capsys):
    show(AnalysisReport(tuple(FIGURES), tuple(judge(FIGURES)), ("ours: 4 lost instead of 3",)))
    shown = capsys.readouterr().out
    assert "ours on Spark" in shown and "4,545,455" in shown and "not met" in shown and "wrong: ours: 4 lost instead of 3" in shown
    assert "exactly what was injected" not in shown


def test_json_has_engines_goals_and_what_is_wrong():
    told = json.loads(json.dumps(as_json(AnalysisReport(tuple(FIGURES), tuple(judge(FIGURES)), ()))))
    assert [one["engine"] for one in told["engines"]] == [FLOOR, OURS, FLOOR, DUCKDB, OURS]
    assert told["goals"][0]["met"] is True and told["wrong"] == []


def test_seventeen_anomalies_of_nine_kinds_are_injected():
    assert (sum(INJECTED.values()), len(INJECTED)) == (17, 9)


@pytest.fixture
def liar(monkeypatch):
    """A checker that finds three lost messages, whatever there is."""

    def time_checker(engine, run, rows, passes, memory_mb=None, names=None):
        return Timed(engine, rows, 1.0, tuple(Pass(name, 1.0, {"lost": 4}) for name in names or ("core", "core", "all", "all")), 1)

    monkeypatch.setattr(analysis, "time_checker", time_checker)


def test_an_engine_that_finds_something_else_is_told_and_the_histories_are_used_again(tmp_path, liar):
    told: list[str] = []
    first = measure_analysis([100_000], folder=tmp_path, progress=told.append)
    assert first.wrong[0] == "read_floor, 100,000 rows, core: 4 lost instead of 3"
    assert [one.engine for one in first.timed] == [FLOOR, DUCKDB, OURS, LOOP]
    again: list[str] = []
    measure_analysis([100_000], folder=tmp_path, progress=again.append)
    assert "100,000 rows: writing the history" in told and "100,000 rows: writing the history" not in again


def test_a_benchmark_with_a_wrong_count_fails(tmp_path, liar, capsys):
    assert main(["bench", "analysis", "--rows", "100000", "--data", str(tmp_path / "data"), "--json", str(tmp_path / "figures")]) == 1
    assert "wrong: on_spark" in capsys.readouterr().out
    assert json.loads((tmp_path / "figures").read_text())["wrong"]


def test_a_history_too_small_for_what_is_injected_is_refused(tmp_path, capsys):
    assert main(["bench", "analysis", "--rows", "5000", "--data", str(tmp_path)]) == 254
    assert "5,000 rows are too few: 100,000 at least" in capsys.readouterr().err


def test_a_history_that_was_left_half_written_is_not_used(tmp_path, liar, capsys):
    (tmp_path / "synthetic-100000").mkdir()
    assert main(["bench", "analysis", "--rows", "100000", "--data", str(tmp_path)]) == 254
    assert "is there but not complete" in capsys.readouterr().err


@pytest.mark.long
def test_all_engines_agree_with_the_truth(tmp_path):
    report = measure_analysis([100_000], folder=tmp_path, progress=lambda _: None)
    assert report.wrong == ()
    assert {one.engine for one in report.timed} == {FLOOR, DUCKDB, OURS, LOOP}
