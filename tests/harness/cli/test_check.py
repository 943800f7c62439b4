"""`./highwater check` answers with a verdict and the right exit code, or with one clear sentence; never with a stack trace."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from analysis import analysing
from analysis.anomalies import ANOMALIES
from harness.cli.main import main
from harness.history.readers import history_files
from harness.history.schema import METADATA_KEY
from tests.analysis.corpus.story import INFO, Story

ROOT = Path(__file__).parents[3]


def sound(run: Path) -> Path:
    story = Story(acks="all", replicas=3, min_insync=2)
    for value in range(20):
        story.send(1, value, value, part=value % 2)
    story.final_read(*((value, value) for value in range(0, 20, 2)), end=19)
    story.final_read(*((value, value) for value in range(1, 20, 2)), part=1)
    story.write(run)
    return run


def lossy(run: Path) -> Path:
    story = Story(acks="all")
    for value in range(5):
        story.send(1, value, value)
    story.final_read((0, 0), (1, 1), (3, 3), (4, 4))
    story.write(run)
    return run


def unacknowledged(run: Path) -> Path:
    story = Story(acks="all")
    story.send(1, 10, outcome=INFO, error="REQUEST_TIMED_OUT")
    story.write(run)
    return run


def cut_off(run: Path) -> Path:
    path = history_files(sound(run))[0]
    path.write_bytes(path.read_bytes()[:-200])
    return run


def zipped_from_elsewhere(path: Path) -> None:
    said = [("send", ["send", 0, 7], ["send", 0, [0, 7]]), ("poll", ["poll"], ["poll", {"0": [[0, 7]]}])]
    lines = [
        {"process": 0, "type": kind, "f": f, "value": [value]}
        for f, asked, told in said
        for kind, value in (("invoke", asked), ("ok", told))
    ]
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


@pytest.fixture
def no_spark(monkeypatch):
    def refuse(options):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(analysing, "open_spark", refuse)


def test_every_history_in_a_folder_with_one_spark(tmp_path, capsys):
    """One line of JSON each, and the worst of them is the exit code."""
    for make in (sound, lossy, unacknowledged, cut_off):
        make(tmp_path / make.__name__)
    shutil.copy(history_files(tmp_path / "sound")[0], tmp_path / "half.parquet")
    zipped_from_elsewhere(tmp_path / "elsewhere.jsonl.gz")
    (tmp_path / "notes.txt").touch()
    assert main(["check", str(tmp_path), "--each", "--json"]) == 1
    out, err = capsys.readouterr()
    answers = {answer["file"]: answer for answer in map(json.loads, out.splitlines())}
    assert err == ""
    assert {name: answer["valid"] for name, answer in answers.items()} == {
        "cut_off": "unknown",
        "elsewhere.jsonl.gz": True,
        "half.parquet": False,
        "lossy": False,
        "sound": True,
        "unacknowledged": "unknown",
    }
    assert answers["lossy"]["anomalies"]["lost"]["count"] == 1
    assert answers["lossy"]["anomalies"]["lost"]["witnesses"][0]["identity"] == [2]
    assert "w00000-000000.parquet: cannot be read" in answers["cut_off"]["why"][0]
    assert "Not one send was acknowledged" in answers["unacknowledged"]["why"][0]
    assert answers["sound"] == {"file": "sound"} | json.loads((tmp_path / "sound" / "verdict.json").read_text())


def test_a_run_is_answered_for_people_with_the_verdict_first(tmp_path):
    done = highwater("check", str(lossy(tmp_path / "run")))
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"BROKE A PROMISE: {tmp_path / 'run'}"
    assert any(line.startswith("  lost, 1 times: acknowledged, and absent from a complete final read.") for line in lines)
    assert "acks=all" in done.stdout and "(assumed)" in done.stdout
    assert "Value 2 was sent by process 1" in done.stdout
    assert "starting Spark" in done.stderr and "Traceback" not in done.stderr


def test_an_empty_history_is_answered_without_spark(tmp_path, capsys, no_spark):
    Story().write(tmp_path / "run")
    assert main(["check", str(tmp_path / "run")]) == 2
    assert "Not one send was acknowledged" in capsys.readouterr().out


def test_one_file_of_another_version_is_named(tmp_path, capsys, no_spark):
    path = history_files(lossy(tmp_path / "run"))[-1]
    for path in history_files(tmp_path / "run"):
        pq.write_table(pq.read_table(path).replace_schema_metadata({METADATA_KEY: '{"version": 99}'}), path)
    assert main(["check", str(tmp_path / "run"), "--json", "--quiet"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["valid"] == "unknown"
    assert f"{path.name}: has version 99 of the history format; this is version 1" in answer["why"][0]


def test_a_parquet_file_cut_off_is_named(tmp_path, capsys, no_spark):
    path = history_files(lossy(tmp_path / "run"))[0]
    path.write_bytes(path.read_bytes()[:-200])
    assert main(["check", str(path)]) == 2
    assert "cannot be read as Parquet" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "name, why",
    [
        ("nothing", "does not exist"),
        ("folder", "is not the folder of a run"),
        ("notes.txt", "is no history"),
        ("notes.txt.gz", "is no history"),
    ],
)
def test_what_is_no_history_is_one_line_and_254(tmp_path, capsys, no_spark, name, why):
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "notes.txt.gz").touch()
    assert main(["check", str(tmp_path / name)]) == 254
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and why in err


def test_a_folder_without_histories_is_one_line_and_254(tmp_path, capsys, no_spark):
    assert main(["check", "--each", str(tmp_path)]) == 254
    assert "there is no history in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, why",
    [
        (["--promise", "acks=2"], "acks is '2'; it may be 0 or 1 or all"),
        (["--promise", "fast"], "one is name=value"),
        (["--rules", "mine"], "invalid choice"),
        (["--memory", "10m"], "is no size from"),
        (["--memory", "much"], "is no size from"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line_and_254(tmp_path, capsys, no_spark, arguments, why):
    assert main(["check", str(tmp_path), *arguments]) == 254
    err = capsys.readouterr().err
    assert why in err and err.count("\n") == 1


def test_checks_lists_every_anomaly_with_its_definition(capsys):
    assert main(["checks"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {anomaly.name}\n      {anomaly.definition}\n" in text for anomaly in ANOMALIES.values())


def test_one_of_the_checks_is_told_in_full(capsys):
    assert main(["checks", "lost"]) == 0
    text = capsys.readouterr().out
    assert "Not one whose last offset is before the log start." in text
    assert "an error by highwater's rules: acks=all, unless" in text and "an error by jepsen's rules: never" in text
    assert main(["checks", "losst"]) == 254
    assert "did you mean `lost`?" in capsys.readouterr().err


def highwater(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "harness.cli", *arguments], cwd=ROOT, capture_output=True, text=True)
