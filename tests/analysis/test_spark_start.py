"""Spark starts without a system package, leaves nothing behind, and never outlives us."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.spark import Spark, SparkOptions, SparkTrouble, open_spark
from analysis.spark.archive import class_archive
from analysis.spark.java import full_java_home, local_java_home, spark_home
from analysis.spark.shipping import ROOT, packed_code

LIMIT_S = 60

HELD = """
import os, sys
from analysis.spark import SparkOptions, open_spark
with open_spark(SparkOptions("local[1]")) as spark:
    print(spark.jvm_pid, *spark.run([0], lambda _: os.getpid()), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def spark():
    with open_spark(SparkOptions("local[2]")) as started:
        yield started


def test_results_come_in_the_order_of_the_tasks(spark: Spark):
    assert spark.run([3, 1, 2], lambda task: task * 10) == [30, 10, 20]
    assert spark.run([], str) == []


def test_a_task_runs_on_our_python_with_our_code(spark: Spark):
    assert spark.run([0], _where) == [(sys.executable, str(ROOT / "analysis" / "__init__.py"))]


def test_a_task_that_fails_is_one_line(spark: Spark):
    with pytest.raises(SparkTrouble, match="Spark could not finish: ZeroDivisionError: integer division") as told:
        spark.run([0], lambda _: 1 // 0)
    assert "\n" not in str(told.value)


TWICE = """
import os
from analysis.spark import SparkOptions, open_spark

def spoilt(large):
    with open_spark(SparkOptions("local[1]", large=large)) as spark:
        pids.append(spark.jvm_pid)
        print(spark.run([1], abs))
        raise KeyError

pids = []
for large in (False, True):
    try:
        spoilt(large)
    except KeyError:
        print(os.path.exists(f"/proc/{pids[-1]}"))
"""


def test_an_exception_leaves_nothing_of_it_and_another_can_be_started(tmp_path):
    """In a process of its own, since this one has a Spark; and with an environment that speaks of another Spark."""
    environment = os.environ | {"TMPDIR": str(tmp_path), "SPARK_HOME": "/nowhere", "PYSPARK_SUBMIT_ARGS": "nonsense"}
    done = subprocess.run([sys.executable, "-c", TWICE], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["[1]", "False"] * 2, "")
    assert not list(tmp_path.glob("highwater-spark-*"))


def test_java_and_its_workers_die_with_us_even_by_sigkill():
    with subprocess.Popen([sys.executable, "-c", HELD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout is not None
        pids = [int(pid) for pid in ours.stdout.readline().split()]
        assert len(pids) == 2 and all(map(alive, pids))
        ours.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + LIMIT_S
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if alive(pid)] == []


def test_the_class_archive_is_made_once_and_under_its_name_when_it_is_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jars = spark_home() / "jars"
    first, second = class_archive(local_java_home(), jars), class_archive(local_java_home(), jars)
    assert first.pending is not None and first == second
    folder = first.pending.parent
    assert [path.name for path in folder.iterdir()] == ["base.jsa"]
    first.pending.write_bytes(b"half")
    first.settle(ended_well=False)
    assert [path.name for path in folder.iterdir()] == ["base.jsa"]
    first.pending.write_bytes(b"whole")
    first.settle(ended_well=True)
    assert sorted(path.name for path in folder.iterdir()) == ["base.jsa", "classes.jsa"]
    assert class_archive(local_java_home(), jars).options == (f"-XX:SharedArchiveFile={folder}/base.jsa:{folder}/classes.jsa",)


def test_without_a_place_for_archives_spark_starts_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert class_archive(local_java_home(), spark_home() / "jars").options == ()


def test_the_wheel_s_java_is_not_enough_for_a_cluster(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(local_java_home()))
    with pytest.raises(SparkTrouble, match="is no full JDK"):
        full_java_home()


def test_memory_is_shared_between_java_and_the_tasks():
    options = SparkOptions("local[2]", memory_mb=2048)
    assert options.heap_mb + 2 * options.task_memory_mb <= 2048
    assert SparkOptions("local[3]").cores == 3
    assert not SparkOptions("spark://somewhere:7077").is_local


def test_the_code_that_travels_is_the_analysis_and_the_history(tmp_path):
    program = "import analysis.findings, harness.history.readers; print(analysis.findings.__file__)"
    environment = os.environ | {"PYTHONPATH": str(packed_code(tmp_path))}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp_path)), done.stderr


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _where(_: int) -> tuple[str, str | None]:
    import analysis

    return sys.executable, analysis.__file__
