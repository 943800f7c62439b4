"""A real standalone cluster, a master and two workers on a full JDK: a history is checked there though a worker is killed meanwhile."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest

from analysis import checking
from analysis.bucket_tasks import Buckets, Job, check_buckets
from analysis.judging import Question, context_for
from analysis.material import read_material
from analysis.seen import Seen
from analysis.spark import SparkOptions, SparkTrouble, open_spark
from analysis.spark.java import full_java_home, spark_home
from analysis.tasks import FEW_ROWS
from harness.systems.free_ports import free_ports
from tests.analysis.corpus.story import Story

LIMIT_S = 600
ROWS = FEW_ROWS + 1000

pytestmark = pytest.mark.long


@pytest.fixture
def java_home() -> Path:
    try:
        return full_java_home()
    except SparkTrouble as problem:
        pytest.skip(f"no full JDK for a cluster: {problem}")


def test_a_history_is_checked_though_a_worker_dies_meanwhile(tmp_path, monkeypatch, java_home):
    """The executors have never seen our code, and every task waits until one of the two workers has been killed under it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    gate = tmp_path / "gate"
    gate.mkdir()
    monkeypatch.setattr(checking, "check_buckets", waiting(gate))
    story = Story()
    for value in range(ROWS):
        story.send(1, value, value // 40, part=value % 40)
    story.poll(2, (0, 7_000_000))
    story.write(tmp_path / "run")
    material = read_material(tmp_path / "run")

    with ExitStack() as stack:
        (port,) = free_ports(1)
        start(stack, tmp_path / "master", java_home, "master.Master", "--host", "127.0.0.1", "--port", str(port))
        wait(lambda: listens(port))
        master = f"spark://127.0.0.1:{port}"
        workers = [
            start(stack, tmp_path / f"worker-{number}", java_home, "worker.Worker", "--cores", "1", "--memory", "1g", master)
            for number in (1, 2)
        ]
        logs = [tmp_path / f"worker-{number}" / "log" for number in (1, 2)]
        wait(lambda: all("Successfully registered" in log.read_text() for log in logs))
        spark = stack.enter_context(open_spark(SparkOptions(master)))
        found: list[checking.Checked] = []
        asking = Thread(target=lambda: found.append(checking.check_history(spark, material, context_for(material, Question()))))
        asking.start()
        wait(lambda: len({mark.name.split("-")[0] for mark in gate.glob("*-*")}) == 2)
        os.killpg(workers[0].pid, signal.SIGKILL)
        (gate / "open").touch()
        asking.join(LIMIT_S)
    (checked,) = found
    assert {name: one.count for name, one in checked.findings.items() if name in ("phantom", "ack-conflict")} == {
        "phantom": 1,
        "ack-conflict": 1,
    }
    assert checked.measures.count(0) == ROWS
    tries = [mark.name.split("-")[1] for mark in gate.glob("*-*")]
    assert len(tries) > len(set(tries)), "what the dead worker had begun was begun again"


def test_a_master_that_is_not_there_is_one_line(java_home):
    (port,) = free_ports(1)
    with (
        pytest.raises(SparkTrouble, match=f"no Spark at spark://127.0.0.1:{port}") as told,
        open_spark(SparkOptions(f"spark://127.0.0.1:{port}")),
    ):
        pass
    assert "\n" not in str(told.value)


def waiting(gate: Path) -> Callable[[Job, Buckets], Seen]:
    """Leaves a mark of its executor and its buckets, and goes on when the gate is open."""

    def check(job: Job, buckets: Buckets) -> Seen:
        (gate / f"{os.getppid()}-{buckets[0]}-{time.monotonic_ns()}").touch()
        while not (gate / "open").exists():
            time.sleep(0.05)
        return check_buckets(job, buckets)

    return check


def start(stack: ExitStack, folder: Path, java_home: Path, role: str, *arguments: str) -> subprocess.Popen[bytes]:
    """In a process group of its own, which its executors share."""
    folder.mkdir()
    environment = os.environ | {"JAVA_HOME": str(java_home), "SPARK_HOME": str(spark_home()), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(spark_home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--webui-port", "0", *arguments]
    if role.startswith("worker"):
        command[-1:-1] = ["--host", "127.0.0.1", "--work-dir", str(folder)]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, process_group=0)
    stack.callback(process.wait)
    stack.callback(kill_group, process.pid)
    return process


def kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
