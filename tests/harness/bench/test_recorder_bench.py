import json

from harness.bench.recorder import RecorderReport, measure_recorder, run_recorder, show_recorder
from harness.history.readers import open_history


def test_every_row_of_the_benchmark_is_recorded_once(tmp_path):
    report = measure_recorder(tmp_path, 30_000, segment_slots=8_000)
    assert report.rows == 30_000
    for part in ("sends", "polls"):
        ops = open_history(tmp_path / part).read_all(["value"])["value"].to_pylist()
        assert len(ops) == len(set(ops)) == 30_000


def test_rows_in_parquet_are_as_small_as_wanted(tmp_path):
    report = measure_recorder(tmp_path, 30_000)
    assert 5 < report.send_bytes < 25
    assert 1 < report.poll_bytes < 25


def test_figures_are_shown_beside_their_goals(capsys):
    show_recorder(RecorderReport(10, 160_000.0, 1.0, 1.0, 1.0, 26.0, 1.0, 1.0, 1.0, 1.0))
    lines = capsys.readouterr().out.splitlines()
    assert any("sends with delivery reports" in line and line.rstrip().endswith("met") for line in lines)
    assert any("sends in Parquet" in line and line.rstrip().endswith("not met") for line in lines)


def test_figures_are_written_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("harness.bench.recorder.QUICK_ROWS", 5_000)
    run_recorder(quick=True, json_path=tmp_path / "figures.json")
    assert json.loads((tmp_path / "figures.json").read_text())["rows"] == 5_000
