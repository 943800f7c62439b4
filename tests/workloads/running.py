"""Worker processes against a real cluster, and what they left in the history."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from harness.history.readers import open_history
from harness.systems.admin import connect
from harness.systems.local_cluster import LocalCluster
from workloads.clients import new_consumer
from workloads.final_reads import PartitionEnd, save_ends
from workloads.worker_plan import WorkerPlan

PATIENCE = 60.0
ROOT = Path(__file__).resolve().parents[2]
FINAL_WORKER = 900


@contextmanager
def cluster_of(directory: Path, nodes: int, topics: dict[str, int]) -> Iterator[LocalCluster]:
    with LocalCluster.create(directory, nodes) as cluster:
        with connect(cluster.bootstrap) as admin:
            for name, parts in topics.items():
                admin.create_topic(name, parts, nodes, {"min.insync.replicas": str(min(2, nodes))})
        yield cluster


def plan_of(cluster: LocalCluster, folder: Path, topics: dict[str, int], **more: Any) -> WorkerPlan:
    folder.mkdir(parents=True)
    return WorkerPlan(cluster.bootstrap, str(folder), folder.name, time.monotonic_ns(), tuple(topics.items()), **more)


class RunningWorker:
    """A worker process. Lines it writes are taken one by one, within a minute."""

    def __init__(self, plan: WorkerPlan, number: int = 0) -> None:
        path = Path(plan.run) / "worker-plan.json"
        plan.save(path)
        command = [sys.executable, "-m", "workloads.worker", "--plan", str(path), "--worker", str(number)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)

    def status(self) -> dict[str, Any]:
        """The next line; a worker that ended instead is shown with its own words."""
        assert self.process.stdout and self.process.stderr
        line = self.process.stdout.readline()
        assert line, f"the worker ended: {self.process.stderr.read()}"
        return json.loads(line)

    def until(self, wanted: Any) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while not wanted(found := self.status()):
            assert time.monotonic() < deadline, found
        return found

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def stop(self) -> dict[str, Any]:
        self.tell("stop")
        last = self.until(lambda status: status["state"] == "ended")
        out, err = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, out, err) == (0, "", "")
        return last

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


def read_finals(plan: WorkerPlan) -> subprocess.CompletedProcess[str]:
    """Final reads to the ends that the brokers report, which are right here: nobody sends any more and every replica is in sync."""
    consumer = new_consumer(plan.bootstrap, plan.clients, "ends")
    ends = [PartitionEnd(*place, *_ends(consumer, place)) for place in plan.pool]
    consumer.close()
    run = Path(plan.run)
    save_ends(run / "ends.json", ends)
    files = ["--plan", str(run / "worker-plan.json"), "--ends", str(run / "ends.json"), "--worker", str(FINAL_WORKER)]
    return subprocess.run(
        [sys.executable, "-m", "workloads.final_reads", *files], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE
    )


def rows_of(plan: WorkerPlan) -> list[dict[str, Any]]:
    """Every row of the history, with words instead of numbers."""
    history = open_history(Path(plan.run))
    rows: list[dict[str, Any]] = history.read_all().to_pylist()
    for row in rows:
        for column, names in history.names.items():
            row[column] = None if row[column] is None else names[row[column]]
    return rows


def of(rows: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def _ends(consumer: Consumer, place: tuple[str, int]) -> tuple[int, int]:
    found = consumer.get_watermark_offsets(TopicPartition(*place), timeout=PATIENCE)
    assert found
    return found
